//! Who is asked, and what they answer.
//!
//! An answer decides whether an action happens, never what it can reach: a yes
//! does not leave the sandbox.

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde::Serialize;
use zonekeep_policy::{Action, Verb};

mod terminal;
mod visible;

pub use terminal::Terminal;
pub use visible::visible;

/// How long a yes holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Remember {
    /// For this one action.
    #[default]
    Once,
    /// For the same action on the same path, until the session ends.
    Session,
}

/// What somebody answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// Whether the action may happen.
    pub approved: bool,
    /// Words for the agent.
    pub note: Option<String>,
    /// How long a yes holds.
    pub remember: Remember,
    /// Why nobody could be asked, where that is so; the answer is then no.
    pub unasked: Option<String>,
}

impl Answer {
    /// Returns a yes for this one action.
    pub fn yes() -> Self {
        Answer { approved: true, ..Answer::default() }
    }

    /// Returns a yes for the session.
    pub fn yes_for_session() -> Self {
        Answer { approved: true, remember: Remember::Session, ..Answer::default() }
    }

    /// Returns a no.
    pub fn no() -> Self {
        Answer::default()
    }

    /// Returns a no with words for the agent.
    pub fn no_because(note: impl Into<String>) -> Self {
        Answer { note: Some(note.into()), ..Answer::default() }
    }

    /// Returns that nobody could be asked; `reason` follows "approval, and".
    pub fn unasked(reason: impl Into<String>) -> Self {
        Answer { unasked: Some(reason.into()), ..Answer::default() }
    }
}

/// A question about one action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The worker that wants it.
    pub worker: Option<String>,
    /// The tool it called.
    pub tool: String,
    /// What would be done.
    pub verb: Verb,
    /// The path, normalised, as the agent sees it.
    pub path: String,
    /// The second path of a move or copy.
    pub to: Option<String>,
    /// Why consent is needed, with the line that says so.
    pub reasons: Vec<String>,
    /// The other arguments, as name and value.
    pub details: Vec<(String, String)>,
    /// What would change, as a unified diff.
    pub diff: Option<String>,
}

impl Request {
    /// Returns what is asked, such as `write /output/a.md`.
    pub fn summary(&self) -> String {
        match &self.to {
            Some(to) => format!("{} {} to {to}", self.verb, self.path),
            None => format!("{} {}", self.verb, self.path),
        }
    }
}

/// Somebody who can be asked.
pub trait Approver: Send + Sync {
    /// Asks, and waits for the answer.
    fn ask(&self, request: &Request) -> Answer;

    /// Returns a name for the record, such as `terminal`.
    fn name(&self) -> &str;
}

/// Answers yes to everything that may be asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllYes;

impl Approver for Box<dyn Approver> {
    fn ask(&self, request: &Request) -> Answer {
        self.as_ref().ask(request)
    }

    fn name(&self) -> &str {
        self.as_ref().name()
    }
}

impl Approver for AllYes {
    fn ask(&self, _: &Request) -> Answer {
        Answer::yes()
    }

    fn name(&self) -> &str {
        "all-yes"
    }
}

/// Answers no to everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllNo;

impl Approver for AllNo {
    fn ask(&self, _: &Request) -> Answer {
        Answer::unasked("all questions are answered no")
    }

    fn name(&self) -> &str {
        "all-no"
    }
}

/// Stands for the lack of anybody to ask.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Approver for Nobody {
    fn ask(&self, _: &Request) -> Answer {
        Answer::unasked("there is no terminal to ask on")
    }

    fn name(&self) -> &str {
        "nobody"
    }
}

/// Asks a function.
pub struct Callback<F>(
    /// The function.
    pub F,
);

impl<F: Fn(&Request) -> Answer + Send + Sync> Approver for Callback<F> {
    fn ask(&self, request: &Request) -> Answer {
        (self.0)(request)
    }

    fn name(&self) -> &str {
        "callback"
    }
}

/// What a yes for the session was given for: the verb, the normalised paths,
/// and whether something may be overwritten.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    verb: &'static str,
    path: String,
    to: Option<String>,
    overwrite: bool,
}

impl Key {
    fn of(action: &Action, details: &[(String, String)]) -> Self {
        Key {
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
    answers: Mutex<(u64, BTreeMap<Key, Remembered>)>,
}

impl Memory {
    pub(crate) fn recall(
        &self,
        action: &Action,
        details: &[(String, String)],
    ) -> Option<Remembered> {
        let held = self.answers.lock().expect("nothing panics while holding it");
        held.1.get(&Key::of(action, details)).cloned()
    }

    pub(crate) fn keep(
        &self,
        action: &Action,
        details: &[(String, String)],
        what: String,
        by: String,
    ) {
        let mut held = self.answers.lock().expect("nothing panics while holding it");
        held.0 += 1;
        let id = held.0;
        held.1.insert(Key::of(action, details), Remembered { id, what, by });
    }

    pub(crate) fn all(&self) -> Vec<Remembered> {
        let held = self.answers.lock().expect("nothing panics while holding it");
        held.1.values().cloned().collect()
    }

    pub(crate) fn revoke(&self, id: u64) -> bool {
        let mut held = self.answers.lock().expect("nothing panics while holding it");
        let before = held.1.len();
        held.1.retain(|_, answer| answer.id != id);
        held.1.len() < before
    }
}
