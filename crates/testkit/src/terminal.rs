//! A person at a terminal, played by a script.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};

use crate::{PATIENCE, Project, Run, eventually};

/// Waits until the first text is on the screen, then types the second. Steps
/// that wait for nothing are typed before the program starts.
pub type Step<'a> = (&'a str, &'a str);

/// What a program came to, and what the person saw.
#[derive(Debug)]
pub struct Typed {
    /// What the program came to.
    pub run: Run,
    /// Everything on the screen, what was typed included.
    pub screen: String,
}

/// Returns the program that starts another one in a session of its own.
pub(crate) fn setsid() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join("setsid")).find(|file| file.is_file())
}

impl Project {
    /// Runs the program at a terminal, with `steps` typed on it. Its standard
    /// output and error are not the terminal. `None` where there is no way to
    /// make a terminal.
    ///
    /// # Panics
    /// When a text that is waited for does not appear.
    pub fn zonekeep_typed<I: IntoIterator<Item = S>, S: AsRef<std::ffi::OsStr>>(
        &self,
        args: I,
        steps: &[Step<'_>],
    ) -> Option<Typed> {
        let (master, slave) = pty()?;
        let mut keyboard = File::from(master.try_clone().unwrap());
        let early = steps.iter().take_while(|(wanted, _)| wanted.is_empty()).count();
        for (_, typed) in &steps[..early] {
            keyboard.write_all(typed.as_bytes()).unwrap();
        }
        let mut command = Command::new(setsid()?);
        self.prepare(command.arg("--ctty").arg(self.program()).args(args));
        command.stdin(Stdio::from(slave)).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        // The program holds the only other end now.
        drop(command);

        let screen = Arc::new(Mutex::new(String::new()));
        let reader = {
            let screen = Arc::clone(&screen);
            thread::spawn(move || {
                let (mut master, mut buffer) = (File::from(master), [0; 4096]);
                // Ends with an error when the program has closed its end.
                while let Ok(n @ 1..) = master.read(&mut buffer) {
                    let text = String::from_utf8_lossy(&buffer[..n]).replace("\r\n", "\n");
                    screen.lock().unwrap().push_str(&text);
                }
            })
        };
        let mut seen = 0;
        for (wanted, typed) in &steps[early..] {
            seen = eventually(wanted, || {
                let screen = screen.lock().unwrap();
                screen[seen..].find(wanted).map(|at| seen + at + wanted.len())
            });
            keyboard.write_all(typed.as_bytes()).unwrap();
        }
        let run = self.run_of(child.wait_with_output().unwrap());
        reader.join().unwrap();
        let screen = screen.lock().unwrap().clone();
        Some(Typed { run, screen })
    }
}

/// A program at a terminal, with its standard input, output and error.
#[derive(Debug)]
pub struct Terminal {
    child: Child,
    master: File,
    screen: Arc<Mutex<String>>,
    /// How much of the screen has been waited for.
    seen: usize,
    reader: JoinHandle<()>,
}

impl Project {
    /// Starts the program at a terminal of 24 lines and 80 columns. `None` where
    /// there is no way to make one.
    pub fn zonekeep_at_terminal<I: IntoIterator<Item = S>, S: AsRef<std::ffi::OsStr>>(
        &self,
        args: I,
    ) -> Option<Terminal> {
        let mut command = Command::new(self.program());
        command.args(args);
        self.at_terminal(&command)
    }

    /// Starts any program at a terminal, with the directory and environment of
    /// the project.
    pub fn at_terminal(&self, command: &Command) -> Option<Terminal> {
        let (master, slave) = pty()?;
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let mut starter = Command::new(setsid()?);
        starter.arg("--ctty").arg(command.get_program()).args(command.get_args());
        self.prepare(&mut starter);
        for (name, value) in command.get_envs() {
            starter.env(name, value.unwrap_or_default());
        }
        starter
            .env("TERM", "dumb")
            .stdin(Stdio::from(slave.try_clone().unwrap()))
            .stdout(Stdio::from(slave.try_clone().unwrap()))
            .stderr(Stdio::from(slave));
        let child = starter.spawn().unwrap();
        drop(starter);
        let screen = Arc::new(Mutex::new(String::new()));
        let master = File::from(master);
        let reader = {
            let (screen, mut master) = (Arc::clone(&screen), master.try_clone().unwrap());
            thread::spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok(n @ 1..) = master.read(&mut buffer) {
                    let text = String::from_utf8_lossy(&buffer[..n]).replace('\r', "");
                    screen.lock().unwrap().push_str(&text);
                }
            })
        };
        Some(Terminal { child, master, screen, seen: 0, reader })
    }
}

impl Terminal {
    /// Waits until a text is on the screen, behind what was waited for before.
    ///
    /// # Panics
    /// When it does not come.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        let start = Instant::now();
        loop {
            let screen = self.screen();
            if let Some(at) = screen[self.seen..].find(text) {
                self.seen += at + text.len();
                return;
            }
            assert!(start.elapsed() < PATIENCE, "never came: {text:?} on this screen:\n{screen}");
            thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    /// Types something.
    pub fn type_in(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).unwrap();
    }

    /// Changes the size of the terminal.
    pub fn resize(&self, rows: u16, columns: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.master, size).unwrap();
    }

    /// Returns how the terminal is set, in a form to compare.
    pub fn settings(&self) -> String {
        let settings = tcgetattr(&self.master).unwrap();
        format!("{:?} {:?} {:?}", settings.input_modes, settings.output_modes, settings.local_modes)
    }

    /// Returns all that is on the screen.
    pub fn screen(&self) -> String {
        self.screen.lock().unwrap().clone()
    }

    /// Returns the number of the process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the program has ended; returns its exit status (128 and the
    /// number for a signal), how the terminal is set, and the whole screen.
    ///
    /// # Panics
    /// When it does not end.
    #[track_caller]
    pub fn end(mut self) -> (i32, String, String) {
        use std::os::unix::process::ExitStatusExt;
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > PATIENCE {
                let _ = self.child.kill();
                panic!("it does not end; this is the screen:\n{}", self.screen());
            }
            thread::sleep(std::time::Duration::from_millis(10));
        };
        let settings = self.settings();
        self.reader.join().unwrap();
        let screen = self.screen.lock().unwrap().clone();
        (
            status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()),
            settings,
            screen,
        )
    }
}

fn pty() -> Option<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
    // At once where that can be: other tests start programs at any moment.
    #[cfg(target_os = "linux")]
    let flags = flags | OpenptFlags::CLOEXEC;
    let master = openpt(flags).ok()?;
    rustix::io::fcntl_setfd(&master, rustix::io::FdFlags::CLOEXEC).ok()?;
    grantpt(&master).ok()?;
    unlockpt(&master).ok()?;
    let name = ptsname(&master, Vec::new()).ok()?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let slave = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).ok()?;
    Some((master, slave))
}
