//! Commands: what they get, how they are confined, and what they came to.

mod asking;
mod background;
mod busy;
mod enclose;
mod exit;
mod forward;
mod home;
mod notes;
pub(crate) mod outside;
mod refusals;
mod room;
mod run;
pub(crate) mod shell;
pub(crate) mod weaker;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use serde::Serialize;
use zonekeep_confine::plan::{Access, Backend, Calls};
use zonekeep_confine::tree::Launcher;
use zonekeep_policy::RelPath;
use zonekeep_policy::config::AgentProfile;
use zonekeep_policy::limit::Limits;
use zonekeep_policy::planted::Caller;
use zonekeep_policy::policy::Network;

pub use background::{Background, Job, JobState};
pub(crate) use busy::Busy;
pub use enclose::{Enclosed, Planned};
pub(crate) use enclose::{Enclosure, Trees, most_memory};
pub(crate) use exit::allowed;
pub use forward::Port;
pub(crate) use outside::Outside;
pub use run::Attached;
pub use shell::{Ran, ShellCall};
pub(crate) use weaker::Confinement;
pub use weaker::{Demand, Unconfined, Weaker};

/// How a session confines commands, as far as the program that opens it has a
/// say. The rules are in the project file.
#[derive(Debug, Clone, Default)]
pub struct Confine {
    /// The program that builds sandboxes; found by itself when left out.
    pub launcher: Option<Launcher>,
    /// Directories that commands get beside the zones.
    pub places: Vec<Placed>,
    /// Whether a command runs only where the kernel enforces every rule fully.
    pub strict: bool,
    /// Whether the user accepts a sandbox that does not enforce all essential rules.
    pub weaker: Weaker,
    /// Whether the session is for one command: what appears in writable zones after
    /// that has ended is taken for the user's own.
    pub once: bool,
    /// Environment variables that no command gets, whatever the project file
    /// passes on.
    pub withheld: Vec<String>,
    /// Which system calls commands can make.
    pub calls: Calls,
    /// Ports of the host's loopback that lead to servers of commands.
    pub ports: Vec<Port>,
    /// The agent that runs inside as a whole; its hosts and secrets are in the policy.
    pub profile: Option<AgentProfile>,
}

/// A host directory that commands see at its own path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The directory's real path.
    pub host: PathBuf,
    /// Whether it can be written.
    pub access: Access,
}

/// A command to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// Where it starts, as the agent writes it; the working directory when left
    /// out.
    pub cwd: Option<String>,
    /// More environment variables.
    pub env: BTreeMap<String, String>,
    /// Tighter limits.
    pub limits: Limits,
    /// What was judged, for a command that an agent wanted.
    judged: Option<Judged>,
}

/// What a yes was given for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Judged {
    /// The text as the agent wrote it.
    pub(crate) text: String,
    /// Whether bash reads it.
    pub(crate) bash: bool,
    /// What it may reach.
    pub(crate) network: Network,
    /// Whether it may use the worker's secrets.
    pub(crate) secrets: bool,
    /// The guarded files that somebody has said yes to, below their zones.
    pub(crate) guarded: Vec<RelPath>,
    /// How far the operating system confines the command that it was said of.
    pub(crate) confinement: Confinement,
}

impl Command {
    /// Returns a command that starts in the working directory.
    pub fn new<I: IntoIterator<Item = S>, S: Into<OsString>>(argv: I) -> Self {
        Command {
            argv: argv.into_iter().map(Into::into).collect(),
            cwd: None,
            env: BTreeMap::new(),
            limits: Limits::none(),
            judged: None,
        }
    }

    /// Returns a command that was judged.
    pub(crate) fn judged(argv: Vec<String>, judged: Judged) -> Self {
        Command { judged: Some(judged), ..Command::new(argv) }
    }

    /// Returns the command with a limit on how long it runs.
    #[must_use]
    pub fn timeout(mut self, timeout: std::time::Duration) -> Self {
        self.limits.wall_ms = Some(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX).max(1));
        self
    }

    /// Returns the command line as a shell would take it, for people.
    pub fn line(&self) -> String {
        if let Some(judged) = &self.judged {
            return judged.text.clone();
        }
        let words = self.argv.iter().map(|word| quoted(&word.to_string_lossy()));
        words.collect::<Vec<_>>().join(" ")
    }

    /// Returns whose command it is.
    fn caller(&self) -> Caller {
        if self.judged.is_some() { Caller::Agent } else { Caller::User }
    }

    /// Returns whether git is asked to do what it cannot do without changing
    /// its configuration.
    fn configures_git(&self) -> bool {
        let words: Vec<_> = self.argv.iter().map(|word| word.to_string_lossy()).collect();
        let line = words.join(" ");
        line.contains("git") && line.split(|c: char| !c.is_alphanumeric()).any(|w| w == "submodule")
    }
}

/// Writes a word so that a shell reads it as it is.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// What a command came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Outcome {
    /// What it printed; the beginning and the end of a long text.
    pub stdout: String,
    /// What it said beside that.
    pub stderr: String,
    /// Its exit status, unless a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether it did not end with status 0.
    pub failed: bool,
    /// Whether it was ended because it took too long.
    pub timed_out: bool,
    /// The limit that ended it.
    pub over: Option<zonekeep_confine::Over>,
    /// Whether part of what it printed was left out.
    pub truncated: bool,
    /// Where it ran, as the agent sees it.
    pub cwd: String,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
    /// What the agent should know about it, a sentence each.
    pub notes: Vec<String>,
    /// How it was confined.
    pub backend: Backend,
    /// Whether it could reach anything, as far as the operating system says.
    pub network: bool,
    /// Whether it was held back: it failed at a boundary, or something that it
    /// made was taken away.
    pub held: bool,
    /// The guarded files that were caught.
    pub caught: Vec<CaughtFile>,
}

/// A guarded file that a command made or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CaughtFile {
    /// The path as the agent names it.
    pub path: String,
    /// The pattern that guards it.
    pub pattern: String,
    /// What became of the change.
    pub fate: zonekeep_confine::Fate,
    /// The id in the quarantine, where it was moved there.
    pub quarantine: Option<String>,
    /// Why it is still where the command put it.
    pub failed: Option<String>,
}

impl CaughtFile {
    fn new(path: &str, caught: &zonekeep_confine::Caught) -> Self {
        CaughtFile {
            path: path.to_owned(),
            pattern: caught.pattern.clone(),
            fate: caught.fate,
            quarantine: caught.id.clone(),
            failed: caught.failed.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_as_it_would_be_typed() {
        let cases: [(&[&str], &str); 4] = [
            (&["git", "commit", "-m", "a & b"], "git commit -m 'a & b'"),
            (&["echo", ""], "echo ''"),
            (&["echo", "it's"], r"echo 'it'\''s'"),
            (&["ls", "-l", "./a_b"], "ls -l ./a_b"),
        ];
        for (argv, line) in cases {
            assert_eq!(Command::new(argv.iter().copied()).line(), line);
        }
    }

    #[test]
    fn what_needs_to_configure_git() {
        let cases: [(&[&str], bool); 4] = [
            (&["git", "submodule", "add", "../lib"], true),
            (&["sh", "-c", "cd x && git submodule update"], true),
            (&["git", "commit"], false),
            (&["submodule"], false),
        ];
        for (argv, want) in cases {
            assert_eq!(Command::new(argv.iter().copied()).configures_git(), want, "{argv:?}");
        }
    }
}
