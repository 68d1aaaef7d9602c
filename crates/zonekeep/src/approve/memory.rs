//! The answers that hold for a session.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use zonekeep_policy::Action;

/// What a yes for the session was given for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// The verb, the normalised paths, and whether something may be overwritten.
    Path { verb: &'static str, path: String, to: Option<String>, overwrite: bool },
    /// A command line, exactly; where it starts, and what it gets.
    Line {
        worker: Option<String>,
        mode: &'static str,
        line: String,
        cwd: String,
        background: bool,
        gets: String,
    },
    /// Commands that begin like this, where that matters the directory they
    /// start in, and what they get.
    Pattern { worker: Option<String>, pattern: String, cwd: String, background: bool, gets: String },
    /// A worker that another one calls.
    Call { worker: Option<String>, callee: String },
    /// A host and port that commands connect to.
    Connect { worker: Option<String>, to: String },
}

impl Key {
    /// Returns the key of an action on files.
    pub(crate) fn of(action: &Action, details: &[(String, String)]) -> Self {
        Key::Path {
            overwrite: details.iter().any(|(name, value)| name == "overwrite" && value == "true"),
            verb: action.verb.as_str(),
            path: action.target.path.to_string(),
            to: action.to.as_ref().map(|to| to.path.to_string()),
        }
    }
}

/// A yes that holds for the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remembered {
    /// The number to revoke it by.
    pub id: u64,
    /// What it is for, such as `write /output/a.md`.
    pub what: String,
    /// Who gave it.
    pub by: String,
}

/// The answers that hold for a session.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    answers: Mutex<Answers>,
}

#[derive(Debug, Default)]
struct Answers {
    last: u64,
    /// A yes for a worker that is not tainted is none for one that is.
    held: BTreeMap<(bool, Key), Remembered>,
}

impl Memory {
    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn recall(&self, tainted: bool, key: Key) -> Option<Remembered> {
        self.answers().held.get(&(tainted, key)).cloned()
    }

    pub(crate) fn keep(&self, tainted: bool, key: Key, what: String, by: String) {
        let mut answers = self.answers();
        answers.last += 1;
        let id = answers.last;
        answers.held.insert((tainted, key), Remembered { id, what, by });
    }

    pub(crate) fn all(&self) -> Vec<Remembered> {
        self.answers().held.values().cloned().collect()
    }

    pub(crate) fn revoke(&self, id: u64) -> bool {
        let mut answers = self.answers();
        let before = answers.held.len();
        answers.held.retain(|_, answer| answer.id != id);
        answers.held.len() < before
    }
}
