//! What a caller gets when something did not happen.

use std::fmt;
use std::io;

use zonekeep_files::Fault;
use zonekeep_policy::denial::shown;
use zonekeep_policy::{AgentPath, Denial};

use crate::approve::Request;
use crate::command::{Command, Demand, Unconfined};

/// Why something did not happen, in words for the agent that asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The rules refused it.
    #[error(transparent)]
    Denied(#[from] Denial),
    /// It was allowed, and failed.
    #[error(transparent)]
    Failed(#[from] Box<Failure>),
    /// It was allowed, but could not be written down, and so was not done.
    #[error("Cannot {verb} '{}': the action could not be written to the audit log, so it was not done.\nTell the user; nothing was changed.", shown(.path))]
    Unrecorded {
        /// What was tried.
        verb: &'static str,
        /// The path as given.
        path: String,
        /// What the system said about the log.
        source: io::Error,
    },
    /// It was done, but how it ended could not be written down.
    #[error("Done with '{}', but the audit log could not be completed.\nTell the user before you go on.", shown(.path))]
    HalfRecorded {
        /// The path as given.
        path: String,
        /// What the system said about the log.
        source: io::Error,
    },
    /// The command could not be confined as the rules want it.
    #[error("Cannot run '{}': it could not be confined, so it was not run.\nTell the user; nothing was changed.", shown(.command))]
    Unconfined {
        /// The command line.
        command: String,
        /// What is missing, in words for the user.
        reason: String,
        /// What the user can do about it.
        remedy: Remedy,
    },
    /// The sandbox of a command ended while the command ran.
    #[error("Cannot tell how '{}' ended: its sandbox ended while it ran.\n{}", shown(.command), may_have_changed(.writable))]
    Lost {
        /// The command line.
        command: String,
        /// How the sandbox ended, in words for the user.
        reason: String,
        /// Directories that the command could write, as the agent names them.
        writable: Vec<String>,
    },
    /// The quarantine takes nothing more, so that a guarded file that the command makes could
    /// not be kept.
    #[error("Cannot run '{}': the quarantine for guarded files is full, so it was not run.\nTell the user; nothing was changed.", shown(.command))]
    QuarantineFull {
        /// The command line.
        command: String,
        /// Which bound is reached, in words for the user.
        reason: String,
        /// What the user can do about it.
        remedy: Remedy,
    },
    /// Somebody has to be asked, and this call does not wait for the answer: see
    /// [`Sandbox::deferring`](crate::Sandbox::deferring). Nothing has happened.
    #[error("Cannot {}: it needs the user's approval, which is not given yet.", shown(&.0.summary()))]
    Open(Box<Request>),
    /// The organisation's file cannot be used, or not with these rules, and so nothing is
    /// done.
    #[error(
        "Cannot do anything: the organisation's file {file} cannot be used, so everything is refused.\nTell the user; nothing was changed."
    )]
    Organisation {
        /// The file.
        file: &'static str,
        /// What is wrong, in words for the user.
        reason: String,
    },
    /// The call itself was wrong.
    #[error("Cannot use {tool}: {reason}")]
    BadArguments {
        /// The tool.
        tool: String,
        /// What is wrong, and what would work.
        reason: String,
    },
}

/// What a user can do about a command that could not be confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Remedy {
    /// Let the machine enforce more.
    Raise,
    /// The same, or accept that it enforces less
    /// ([`Weaker::Accepted`](crate::command::Weaker)).
    RaiseOrAccept,
    /// Remove entries of the project from the quarantine.
    DropOwnEntries,
    /// Remove entries of all projects from the quarantine.
    DropAllEntries,
    /// Correct a directory or a value: the machine has the sandbox, and could not build it.
    Correct,
}

/// What was allowed, and failed.
#[derive(Debug)]
pub struct Failure {
    /// What was tried, to follow "Cannot".
    pub verb: &'static str,
    /// The path as given.
    pub path: String,
    /// The second path of a move or copy, as given.
    pub to: Option<String>,
    /// What went wrong.
    pub fault: Fault,
    /// Where a link leads, when that is the trouble and it leads inside.
    pub leads_to: Option<AgentPath>,
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.fault.source()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { verb, path, to, fault, leads_to } = self;
        write!(f, "Cannot {verb} '{}'", shown(path))?;
        if let Some(to) = to {
            write!(f, " to '{}'", shown(to))?;
        }
        let text = fault.to_string();
        match leads_to {
            // What the fault knows below its directory, as the agent can use it.
            Some(target) => {
                write!(f, ": {}\nIt leads to: {target}", text.lines().next().unwrap_or_default())
            }
            None => write!(f, ": {text}{}", advice(verb, fault)),
        }
    }
}

impl Error {
    /// Returns an error for a fault on one path.
    pub(crate) fn failed(verb: &'static str, path: &str, fault: Fault) -> Self {
        let path = path.to_owned();
        Error::Failed(Box::new(Failure { verb, path, to: None, fault, leads_to: None }))
    }

    /// Returns an error for a command whose sandbox failed.
    pub(crate) fn unconfined(command: &str, failed: &zonekeep_confine::tree::Failed) -> Self {
        Error::unconfined_because(command, failed.to_string())
    }

    /// Returns an error for a command whose sandbox this machine has and could not build.
    pub(crate) fn unbuilt(command: &str, failed: &zonekeep_confine::tree::Failed) -> Self {
        let (command, reason) = (command.to_owned(), failed.to_string());
        Error::Unconfined { command, reason, remedy: Remedy::Correct }
    }

    /// Returns an error for a command that cannot be confined.
    pub(crate) fn unconfined_because(command: &str, reason: String) -> Self {
        Error::Unconfined { command: command.to_owned(), reason, remedy: Remedy::Raise }
    }

    /// Returns an error for a command that no backend confines as it needs.
    pub(crate) fn unused(command: &Command, why: Unconfined) -> Self {
        let remedy = match why.demand {
            Demand::Unaccepted => Remedy::RaiseOrAccept,
            Demand::Any | Demand::Full => Remedy::Raise,
        };
        Error::Unconfined { command: command.line(), reason: why.to_string(), remedy }
    }

    /// Returns the same error about a command line, where it is about a command.
    pub(crate) fn about(self, line: &str) -> Self {
        match self {
            Error::Unconfined { reason, remedy, .. } => {
                Error::Unconfined { command: line.to_owned(), reason, remedy }
            }
            Error::QuarantineFull { reason, remedy, .. } => {
                Error::QuarantineFull { command: line.to_owned(), reason, remedy }
            }
            Error::Lost { reason, writable, .. } => {
                Error::Lost { command: line.to_owned(), reason, writable }
            }
            error => error,
        }
    }

    /// Returns what the user can do, where that is known.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Error::Unconfined { remedy, .. } | Error::QuarantineFull { remedy, .. } => {
                Some(*remedy)
            }
            _ => None,
        }
    }

    /// Returns what the user should know beside the message, which is the agent's.
    pub fn detail(&self) -> Option<&str> {
        match self {
            Error::Unconfined { reason, .. }
            | Error::Lost { reason, .. }
            | Error::Organisation { reason, .. }
            | Error::QuarantineFull { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// Returns the stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Denied(denial) => denial.code(),
            Error::Failed(failure) => failure.fault.code(),
            Error::Unrecorded { .. } | Error::HalfRecorded { .. } => "audit",
            Error::Unconfined { .. } => "unconfined",
            Error::Lost { .. } => "unknown",
            Error::Organisation { .. } => "organisation",
            Error::QuarantineFull { .. } => "quarantine_full",
            Error::Open(_) => "open",
            Error::BadArguments { .. } => "bad_arguments",
        }
    }

    /// Returns the path that it is about, as the agent gave it.
    pub fn path(&self) -> Option<&str> {
        match self {
            Error::Denied(denial) => denial.path(),
            Error::Failed(failure) => Some(&failure.path),
            Error::Unrecorded { path, .. } | Error::HalfRecorded { path, .. } => Some(path),
            Error::BadArguments { .. }
            | Error::Organisation { .. }
            | Error::Unconfined { .. }
            | Error::Lost { .. }
            | Error::QuarantineFull { .. }
            | Error::Open(_) => None,
        }
    }

    /// Returns whether Zonekeep itself could not act safely, as opposed to a
    /// refusal or a failure that the agent can do something about.
    pub fn is_internal(&self) -> bool {
        matches!(
            self,
            Error::Unrecorded { .. }
                | Error::HalfRecorded { .. }
                | Error::Unconfined { .. }
                | Error::Lost { .. }
                | Error::Organisation { .. }
                | Error::QuarantineFull { .. }
        )
    }
}

/// Says what a command of unknown end may have changed.
fn may_have_changed(writable: &[String]) -> String {
    match writable.is_empty() {
        true => "It could not change any file. Tell the user.".to_owned(),
        false => format!("It may have changed files in: {}. Tell the user.", writable.join(", ")),
    }
}

/// Returns what would work instead, where that depends on what was tried.
fn advice(verb: &str, fault: &Fault) -> &'static str {
    match fault {
        Fault::Binary { .. } if verb == "read" => "\nTo read it, set encoding to \"base64\"",
        _ => "",
    }
}
