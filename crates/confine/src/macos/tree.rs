//! A sandbox of macOS from the outside: each command is started under
//! `sandbox-exec` in a process group of its own.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::process::{Pid, Signal};

use super::activity::Activity;
use crate::links::Shared;
use crate::plan::{Backend, Plan, Start};
use crate::report::{Caught, Layers};
pub use crate::report::{Ended, Event, Failed};

/// There is no launcher here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    program: PathBuf,
}

impl Launcher {
    /// Names a program that is not used.
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Launcher { program: program.into() }
    }

    /// Returns a launcher that is not used.
    pub fn this_program() -> Self {
        Launcher::at(crate::seatbelt::PROGRAM)
    }

    /// Returns a launcher that is not used.
    pub fn find() -> Option<Self> {
        Some(Self::this_program())
    }

    /// Returns the program's path.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Does nothing here: there is no launcher to wait for.
    pub fn start_early(&self) {}
}

/// A sandbox: the plan that its commands run by.
#[derive(Debug)]
pub struct Tree {
    plan: Plan,
    layers: Layers,
}

impl Tree {
    /// Makes the private directories of a sandbox.
    pub fn start(plan: Plan, _launcher: &Launcher) -> Result<Self, Failed> {
        if !matches!(plan.backend, Backend::Seatbelt | Backend::None) {
            return Err(step("confine the command", "this backend is a part of Linux"));
        }
        std::fs::create_dir_all(plan.home.join("tmp"))?;
        Ok(Tree { plan, layers: Layers::default() })
    }

    /// Does the same: nothing is watched here, so nobody asks who changed it.
    pub fn start_for(
        plan: Plan,
        launcher: &Launcher,
        _activity: Option<&Activity>,
        _tmp: Option<OwnedFd>,
    ) -> Result<Self, Failed> {
        Tree::start(plan, launcher)
    }

    /// Returns a `/tmp` of its own: there is none.
    pub fn tmp(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Returns what lies beside granted directories: nothing there is private.
    pub fn left_beside(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Returns repositories that are half removed: no file is read-only by a mount.
    pub fn half_removed(&self) -> Vec<String> {
        Vec::new()
    }

    /// Hands out a mount of it: there is none.
    pub fn spare_tmp(&self) -> Option<OwnedFd> {
        None
    }

    /// Returns whether there are changes to look at: never.
    pub fn has_news(&self) -> bool {
        false
    }

    /// Returns files with other names outside: they are not looked for.
    pub fn shared(&self) -> Option<&Shared> {
        None
    }

    /// Has nothing to take in.
    pub fn take_in(&self) -> Result<(), Failed> {
        Ok(())
    }

    /// Returns the plan that the sandbox was made by.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns which layers hold: none of Linux.
    pub fn layers(&self) -> Result<&Layers, Failed> {
        Ok(&self.layers)
    }

    /// Returns the sockets of the plan's gateway: none, as there is no network of
    /// its own to have them in.
    pub fn sockets(&self) -> Result<Vec<OwnedFd>, Failed> {
        match self.plan.network.gateway() {
            Some(gateway) if !gateway.sockets.is_empty() => {
                Err(step("take the sockets of the gateway", "there is no network of its own"))
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Starts a command.
    pub fn command(&self, start: Start, stdio: &[BorrowedFd<'_>]) -> Result<Process, Failed> {
        let argv = match self.plan.backend {
            Backend::Seatbelt => crate::seatbelt::command(&self.plan, &start),
            _ => start.argv.clone(),
        };
        let [input, output, errors] = stdio else {
            return Err(step("run", "a terminal of its own is not made here"));
        };
        let (program, arguments) = argv.split_first().ok_or(Failed::Gone)?;
        let own = |fd: &BorrowedFd<'_>| fd.try_clone_to_owned().map(Stdio::from);
        let mut child = Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(&start.env)
            .current_dir(&start.cwd)
            .stdin(own(input)?)
            .stdout(own(output)?)
            .stderr(own(errors)?)
            .process_group(0)
            .spawn()?;
        let group = i32::try_from(child.id()).ok().filter(|pid| *pid > 0).and_then(Pid::from_raw);
        let group = group.ok_or(Failed::Gone)?;
        let (status, mut teller) = UnixStream::pair()?;
        std::thread::spawn(move || {
            if let Ok(ended) = child.wait() {
                // What it left behind ends with it.
                let _ = rustix::process::kill_process_group(group, Signal::KILL);
                let number = |value: Option<i32>| value.map_or(-1, |value| value);
                let _ = writeln!(teller, "{} {}", number(ended.code()), number(ended.signal()));
            }
        });
        Ok(Process { status, group })
    }

    /// Returns what was caught: guarded files are refused by the profile.
    pub fn settle(&self) -> Result<Vec<Caught>, Failed> {
        Ok(Vec::new())
    }

    /// Does the same for the last time, once nothing runs any more.
    pub fn finish(&self) -> Result<Vec<Caught>, Failed> {
        self.settle()
    }

    /// Ends the sandbox.
    pub fn leave(self) {}
}

fn step(step: &str, why: &str) -> Failed {
    Failed::Step { step: step.to_owned(), errno: None, why: why.to_owned() }
}

/// Fails: zones cannot be mounts of their own here.
pub fn handles(_plan: &Plan, _launcher: &Launcher) -> Result<Vec<OwnedFd>, Failed> {
    Err(step("take the zones", "this system has no such mounts"))
}

/// A running command. Its process group ends when this is dropped.
#[derive(Debug)]
pub struct Process {
    status: UnixStream,
    group: Pid,
}

impl Process {
    /// Returns nothing: terminals of their own are not made here.
    pub fn terminal(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Sends a signal to the command's process group.
    pub fn signal(&self, number: i32) -> Result<(), Failed> {
        let signal = Signal::from_named_raw(number).ok_or(Failed::Gone)?;
        Ok(rustix::process::kill_process_group(self.group, signal).map_err(io::Error::from)?)
    }

    /// Ends the command's process group.
    pub fn kill(&self) -> Result<(), Failed> {
        self.signal(Signal::KILL.as_raw())
    }

    /// Waits until it has ended.
    pub fn next(&self) -> Result<Event, Failed> {
        let mut line = String::new();
        BufReader::new(&self.status).read_line(&mut line)?;
        let mut numbers = line.split_whitespace().map(|word| word.parse::<i32>().ok());
        let mut number = || numbers.next().flatten().filter(|number| *number >= 0);
        let (code, signal) = (number(), number());
        if code.is_none() && signal.is_none() {
            return Err(Failed::Gone);
        }
        let (over, cpu_seconds, peak_memory, left) = (None, 0.0, 0, 0);
        Ok(Event::Ended(Ended { code, signal, over, cpu_seconds, peak_memory, left }))
    }

    /// Has nothing to wait for: the command has its descriptors themselves.
    pub fn deliver(
        &self,
        _stop: Option<BorrowedFd<'_>>,
        _until: Option<Instant>,
    ) -> Result<(), Failed> {
        Ok(())
    }

    /// Waits until it has ended.
    pub fn wait(&self) -> Result<Ended, Failed> {
        loop {
            if let Event::Ended(ended) = self.next()? {
                return Ok(ended);
            }
        }
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.status.as_fd()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process_group(self.group, Signal::KILL);
    }
}
