//! What is told about sandboxes and commands, on every system.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::plan::Backend;

/// Which layers hold, as the launcher found it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Layers {
    /// The Landlock version in force; 0 is none.
    pub landlock: u32,
    /// Whether system calls are filtered.
    pub seccomp: bool,
    /// Whether processes outside cannot be seen.
    pub processes: bool,
    /// Whether the tree is one of its own.
    pub tree: bool,
    /// Whether the network is one of its own.
    pub network: bool,
    /// Whether the superuser is somebody else inside, for the kernel too.
    pub root_mapped_away: bool,
    /// Whether a control group holds the limits of all processes together.
    #[serde(default)]
    pub group: bool,
    /// What could not be watched, and why.
    pub unwatched: Option<String>,
}

/// A limit that ended a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Over {
    /// It ran too long.
    Time,
    /// It used too much memory.
    Memory,
    /// It had too many processes.
    Processes,
    /// It printed too much.
    Output,
    /// Its caller had it stopped.
    Stopped,
}

/// What became of a guarded file that a command changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// The change was undone, and its content moved to the quarantine.
    #[default]
    Undone,
    /// The same, and the change waits for an approval.
    Held,
    /// The change stays.
    Reported,
}

/// A guarded file that a command changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caught {
    /// What became of the change.
    pub fate: Fate,
    /// Where it was, as the host names it.
    pub path: String,
    /// The pattern that guards it.
    pub pattern: String,
    /// The name of its quarantine, to restore it by; `None` when its old content
    /// was put back and nothing had to be kept.
    pub id: Option<String>,
    /// What failed, when it could not be moved away.
    pub failed: Option<String>,
    /// Why it was removed without being kept, or with only a part of it.
    pub lost: Option<String>,
}

/// Why there is no sandbox, or no command in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failed {
    /// The launcher does not run.
    #[error("the launcher {} cannot be started: {source}", program.display())]
    Launcher {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A step of building the tree failed.
    #[error("cannot {step}: {why}")]
    Step {
        /// The step, to follow "cannot".
        step: String,
        /// The system's number for it, where there is one.
        errno: Option<i32>,
        /// What the system said.
        why: String,
    },
    /// The sandbox ended.
    #[error("the sandbox ended unexpectedly")]
    Gone,
    /// It could not be spoken to.
    #[error("the sandbox cannot be reached: {source}")]
    Socket {
        /// What the system said.
        #[from]
        source: io::Error,
    },
}

/// What a command did.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// It stopped, as by Ctrl-Z.
    Stopped,
    /// It ended, and nothing of it is left.
    Ended(Ended),
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// Its exit status, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The limit that ended it.
    pub over: Option<Over>,
    /// Seconds of processor time that it used.
    pub cpu_seconds: f64,
    /// The most memory that one of its processes had, in bytes.
    pub peak_memory: u64,
    /// How many of its processes were still there and were ended.
    pub left: u64,
}

/// Whether a backend can be used here.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Offer {
    /// The backend.
    pub backend: Backend,
    /// Whether it can be used.
    pub available: bool,
    /// Why not; or what it lacks here.
    pub why: Option<String>,
    /// The one command or setting that would make it available.
    pub raise: Option<String>,
    /// The version of what carries it out.
    pub version: Option<String>,
    /// Which layers a sandbox of it has here.
    pub layers: Option<Layers>,
}

/// What came of trying one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What was tried.
    pub name: String,
    /// What it is about: files, processes, network, kernel, rights, leaks.
    pub group: String,
    /// Whether the sandbox held; `None` when it was not tried.
    pub held: Option<bool>,
    /// What the system said, or why it was not tried.
    pub detail: String,
}

/// What came of trying everything.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Report {
    /// One for each thing that was tried.
    pub checks: Vec<Check>,
}

impl Report {
    /// Returns whether something was tried and everything held that was.
    pub fn holds(&self) -> bool {
        self.checks.iter().any(|check| check.held == Some(true)) && self.broken().next().is_none()
    }

    /// Returns what did not hold.
    pub fn broken(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| check.held == Some(false))
    }
}
