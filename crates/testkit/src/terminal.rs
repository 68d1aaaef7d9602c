//! A person at a terminal, played by a script.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::{Project, Run, eventually};

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

fn pty() -> Option<(OwnedFd, OwnedFd)> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).ok()?;
    rustix::io::fcntl_setfd(&master, rustix::io::FdFlags::CLOEXEC).ok()?;
    grantpt(&master).ok()?;
    unlockpt(&master).ok()?;
    let name = ptsname(&master, Vec::new()).ok()?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let slave = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).ok()?;
    Some((master, slave))
}
