//! Who is asked, and what they answer.
//!
//! An answer decides whether an action happens, never what it can reach: a yes
//! does not leave the sandbox.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Serialize;
use zonekeep_policy::Action;

mod answer;
mod opening;
mod program;
mod request;
mod terminal;
mod visible;

pub mod socket;

pub use answer::{Answer, Remember};
pub use opening::{Opening, Unfit};
pub use program::Program;
pub use request::{CommandAsked, Part, Request, Version};
pub use socket::Socket;
pub use terminal::Terminal;
pub use visible::visible;

/// How long those who may take their time have to answer.
const WAIT: Duration = Duration::from_secs(5 * 60);

/// Somebody who can be asked.
pub trait Approver: Send + Sync {
    /// Asks, and waits for the answer.
    fn ask(&self, request: &Request) -> Answer;

    /// Returns a name for the record, such as `terminal`.
    fn name(&self) -> &str;

    /// Gets ready for the questions of a session, or says why it cannot serve
    /// it; then the session does not open.
    fn begin(&self, _opening: &Opening<'_>) -> Result<(), Unfit> {
        Ok(())
    }
}

impl<A: Approver + ?Sized> Approver for Box<A> {
    fn ask(&self, request: &Request) -> Answer {
        self.as_ref().ask(request)
    }

    fn name(&self) -> &str {
        self.as_ref().name()
    }

    fn begin(&self, opening: &Opening<'_>) -> Result<(), Unfit> {
        self.as_ref().begin(opening)
    }
}

impl<A: Approver + ?Sized> Approver for Arc<A> {
    fn ask(&self, request: &Request) -> Answer {
        self.as_ref().ask(request)
    }

    fn name(&self) -> &str {
        self.as_ref().name()
    }

    fn begin(&self, opening: &Opening<'_>) -> Result<(), Unfit> {
        self.as_ref().begin(opening)
    }
}

/// Answers yes to everything that may be asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllYes;

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
