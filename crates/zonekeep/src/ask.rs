//! The one road to an answer: what is remembered is not asked again, and what is
//! asked is written down first.

use std::borrow::Cow;

use zonekeep_policy::{Denial, Rule, Verb};

use crate::approve::{Answer, Key, Remember, Request};
use crate::audit::{AnswerRecord, Record};
use crate::error::Error;
use crate::sandbox::Sandbox;
use crate::session::Shared;
use crate::stop::Stop;

/// An answer to a question that ended an earlier call as [`Error::Open`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The question: the answer is for this one alone, and its record goes on.
    pub request: Request,
    /// What was answered.
    pub answer: Answer,
    /// Who answered, for the record.
    pub by: String,
    digest: String,
}

impl Given {
    /// Returns an answer to a question.
    pub fn new(request: Request, answer: Answer, by: impl Into<String>) -> Self {
        Given { digest: request.digest(), request, answer, by: by.into() }
    }
}

/// Why there is no yes.
pub(crate) enum NotYes {
    No(Option<String>),
    Unasked(String),
    /// Nobody waits for the answer here.
    Open(Box<Request>),
}

impl NotYes {
    /// Returns the error, in the words of what was asked about.
    pub(crate) fn error(
        self,
        declined: impl FnOnce(Option<String>) -> Denial,
        unasked: impl FnOnce(String) -> Denial,
    ) -> Error {
        match self {
            NotYes::No(note) => declined(note).into(),
            NotYes::Unasked(reason) => unasked(reason).into(),
            NotYes::Open(request) => Error::Open(request),
        }
    }
}

impl Sandbox {
    /// Returns the same sandbox for a call that waits for nobody.
    ///
    /// A question that is not among the answers `given` ends the call with
    /// [`Error::Open`], before anything has happened. The caller finds out the
    /// answer and makes the same call again with it. The answer counts only if
    /// the question is still the same then, down to what would change.
    #[must_use]
    pub fn deferring(&self, given: Vec<Given>) -> Self {
        self.with_given(given)
    }

    /// Writes down that nothing comes of a question that was left open: `why` says
    /// what happened, and `given` what was answered to it all the same.
    pub fn close_question(&self, request: &Request, given: Option<&Given>, why: &str) {
        let mut record = self.record(request.tool.clone(), Verb::Info, request.path.clone(), None);
        record.id = request.id.clone().into();
        record.action = request.verb.clone().into();
        record.to = request.to.clone().map(Cow::Owned);
        record.verdict = "ask".into();
        record.outcome = "refused".into();
        record.code = Some("withdrawn".into());
        record.error = Some(why.to_owned().into());
        record.answer = given.map(|given| AnswerRecord {
            approved: given.answer.approved,
            by: given.by.clone().into(),
            remember: given.answer.remember.shown().into(),
            note: given.answer.note.clone().map(Cow::Owned),
        });
        // Nothing happens; that it could not be written down changes nothing.
        let _ = self.write_down(&record);
    }

    /// Returns whether whoever is asked thinks about each question.
    pub(crate) fn is_considered(&self) -> bool {
        self.given().is_some() || self.shared().approver.considers()
    }

    /// Returns whether a yes to any of these is remembered, and notes it.
    pub(crate) fn remembers(
        &self,
        keys: impl FnOnce(&dyn Fn(Key) -> Option<String>) -> Option<String>,
        record: &mut Record<'_>,
    ) -> bool {
        remembers(self.shared(), self.grant().is_tainted(), keys, record)
    }

    /// Puts a question, and keeps a yes for as long as it was given: `keep`
    /// returns what it is kept for, and in words.
    pub(crate) fn put(
        &self,
        request: Request,
        keep: impl FnOnce(&Remember) -> Option<(Key, String)>,
        record: &mut Record<'_>,
    ) -> Result<(), NotYes> {
        let (stop, tainted) = (self.stop(), self.grant().is_tainted());
        Asker { shared: self.shared(), stop, tainted, given: self.given() }
            .put(request, keep, record)
    }
}

/// Returns whether a yes to any of these is remembered, and notes it.
pub(crate) fn remembers(
    shared: &Shared,
    tainted: bool,
    keys: impl FnOnce(&dyn Fn(Key) -> Option<String>) -> Option<String>,
    record: &mut Record<'_>,
) -> bool {
    let recall = |key| shared.memory.recall(tainted, key).map(|held| held.by);
    let Some(by) = keys(&recall) else { return false };
    record.answer = Some(AnswerRecord {
        approved: true,
        by: by.into(),
        remember: "session".into(),
        note: None,
    });
    true
}

/// On whose behalf a question is put.
pub(crate) struct Asker<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) stop: &'a Stop,
    pub(crate) tainted: bool,
    /// Where nobody waits for an answer: those that there are.
    pub(crate) given: Option<&'a [Given]>,
}

impl Asker<'_> {
    /// Puts a question, and keeps a yes for as long as it was given.
    pub(crate) fn put(
        &self,
        request: Request,
        keep: impl FnOnce(&Remember) -> Option<(Key, String)>,
        record: &mut Record<'_>,
    ) -> Result<(), NotYes> {
        let approver = &self.shared.approver;
        let given = self.given.map(|given| {
            let digest = request.digest();
            given.iter().find(|given| given.digest == digest)
        });
        let (answer, by) = match given {
            Some(Some(given)) => {
                // That it was asked is written down already, under this id.
                record.id = given.request.id.clone().into();
                (given.answer.clone(), given.by.clone())
            }
            other => {
                // Whoever is asked may never answer: that it was asked stays.
                record.outcome = "asked".into();
                if self.shared.write_down(record).is_err() {
                    let reason = "the question could not be written to the audit log";
                    return Err(NotYes::Unasked(reason.to_owned()));
                }
                if other.is_some() {
                    return Err(NotYes::Open(Box::new(request)));
                }
                (approver.ask(&request), approver.name().to_owned())
            }
        };
        // Whoever was to have it is gone, or other rules hold.
        let answer = match self.stop.is_said() {
            true => Answer::unasked("the call was ended before there was an answer"),
            false => answer,
        };
        let answer = answer.held_to(&request);
        record.answer = Some(AnswerRecord {
            approved: answer.approved,
            by: by.clone().into(),
            remember: answer.remember.shown().into(),
            note: answer.note.clone().map(Cow::Owned),
        });
        if answer.approved {
            if let Some((key, what)) = keep(&answer.remember) {
                self.shared.memory.keep(self.tainted, key, what, by);
            }
            return Ok(());
        }
        Err(match answer.unasked {
            Some(reason) => NotYes::Unasked(reason),
            None => NotYes::No(answer.note),
        })
    }
}

/// Returns why somebody is asked, with the line that says so.
pub(crate) fn reasons(reasons: &[String], rule: &Rule) -> Vec<String> {
    let mut reasons = reasons.to_vec();
    if let Some(first) = reasons.first_mut() {
        *first = format!("{first} ({})", rule.at);
    }
    reasons
}
