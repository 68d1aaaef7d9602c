//! Who is asked, and what they answer.
//!
//! An answer decides whether an action happens, never what it can reach: a yes
//! does not leave the sandbox.

use std::sync::Arc;
use std::time::Duration;

mod answer;
mod memory;
mod notify;
mod opening;
mod program;
mod request;
mod terminal;
mod visible;

pub mod socket;

pub use answer::{Answer, Remember};
pub use memory::Remembered;
pub(crate) use memory::{Key, Memory};
pub use notify::{Notifier, Notifying};
pub use opening::{Opening, Unfit};
pub use program::Program;
pub use request::{CommandAsked, Part, Request, Version};
pub use socket::Socket;
pub use terminal::{Terminal, listed, written};
pub use visible::visible;

/// How long those who may take their time have to answer.
const WAIT: Duration = Duration::from_secs(5 * 60);

/// Somebody who can be asked.
pub trait Approver: Send + Sync {
    /// Asks, and waits for the answer.
    fn ask(&self, request: &Request) -> Answer;

    /// Returns a name for the record, such as `terminal`.
    fn name(&self) -> &str;

    /// Returns whether somebody thinks about each question. Whoever does not
    /// cannot say yes to what a rule may forbid.
    fn considers(&self) -> bool {
        true
    }

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

    fn considers(&self) -> bool {
        self.as_ref().considers()
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

    fn considers(&self) -> bool {
        self.as_ref().considers()
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

    fn considers(&self) -> bool {
        false
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
