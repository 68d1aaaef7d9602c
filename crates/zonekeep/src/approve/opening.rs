//! What a session tells its approver before the first question, and why an
//! approver may not serve it.

use std::io;
use std::path::{Path, PathBuf};

use zonekeep_confine::plan::Access;

use crate::exposure::Exposure;

/// A session that is about to open.
#[derive(Debug)]
pub struct Opening<'a> {
    /// The session's name.
    pub session: &'a str,
    /// The project directory.
    pub project: &'a Path,
    exposure: &'a Exposure,
}

impl<'a> Opening<'a> {
    pub(crate) fn new(session: &'a str, project: &'a Path, exposure: &'a Exposure) -> Self {
        Opening { session, project, exposure }
    }

    /// Returns the directory that agents can reach and that a host path lies in
    /// or leads through, and whether they can write there.
    pub fn exposed(&self, path: &Path) -> Option<(&str, Access)> {
        self.exposure.find(path)
    }
}

/// Why an approver cannot serve a session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unfit {
    /// The program does not exist or is none.
    #[error("the approver {} {what}", path.display())]
    NotAProgram {
        /// The path as given.
        path: PathBuf,
        /// What it is instead, such as "is not a file".
        what: String,
    },
    /// Somebody else than the user could have written the program.
    #[error("the approver {} can be changed by other users", path.display())]
    OthersCanWrite {
        /// The program.
        path: PathBuf,
    },
    /// The program could be changed by another name.
    #[error("the approver {} has another name (a hard link)", path.display())]
    HardLinked {
        /// The program.
        path: PathBuf,
    },
    /// Agents could rewrite the program.
    #[error("the approver {} lies in {within}, which agents can write", path.display())]
    Writable {
        /// The program.
        path: PathBuf,
        /// The zone or directory.
        within: String,
    },
    /// Agents could reach the socket.
    #[error("the socket {} would lie in {within}, which agents can reach", path.display())]
    Reachable {
        /// The socket.
        path: PathBuf,
        /// The zone or directory.
        within: String,
    },
    /// Other users could enter the directory.
    #[error("the directory {} must belong to you, and nobody else may enter it", path.display())]
    NotPrivate {
        /// The directory.
        path: PathBuf,
    },
    /// The path is longer than the system allows for a socket.
    #[error("the path {} is too long for a socket: at most {max} bytes fit", path.display())]
    TooLong {
        /// The socket.
        path: PathBuf,
        /// How long it may be.
        max: usize,
    },
    /// There is something else in its place.
    #[error("there is {what} at {}", path.display())]
    Taken {
        /// The socket.
        path: PathBuf,
        /// What is there.
        what: &'static str,
    },
    /// The approver serves a session already.
    #[error("a socket can serve one session, and this one does already")]
    Busy,
    /// The system refused.
    #[error("the approver's socket {} cannot be made: {source}", path.display())]
    Failed {
        /// The socket or its directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Unfit {
    /// Returns what to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Unfit::NotAProgram { .. } => {
                "name the path of one executable file; it gets no arguments"
            }
            Unfit::OthersCanWrite { .. } => {
                "a program that answers for you must belong to you or to root, as its directories must, and nobody else may write them (`chmod go-w`)"
            }
            Unfit::HardLinked { .. } => {
                "make a copy of it with `cp`, and name that: who can write the other name changes the program"
            }
            Unfit::Writable { .. } => {
                "keep it where no agent can write, such as in a directory of yours outside of the project"
            }
            Unfit::Reachable { .. } | Unfit::TooLong { .. } => {
                "set XDG_RUNTIME_DIR to a short path of a private directory that no agent can reach"
            }
            Unfit::NotPrivate { .. } => "make it yours alone with `chmod 700`",
            Unfit::Taken { .. } => "remove it, or use another path",
            Unfit::Busy => "make a socket for each session",
            Unfit::Failed { .. } => "set XDG_RUNTIME_DIR to a private directory that you can write",
        }
    }
}
