//! The one road to an effect: judge, ask, act, record.

use std::borrow::Cow;
use std::time::{Instant, SystemTime};

use zonekeep_files::Fault;
use zonekeep_files::preview::{Shown, hex};
use zonekeep_policy::denial::shown;
use zonekeep_policy::policy::Audit;
use zonekeep_policy::taint;
use zonekeep_policy::{
    Action, Denial, Judgement, Permit, Question, Rule, Target, Verb, Verdict, judge,
};

use crate::approve::{Key, Remember, Request};
use crate::audit::{Record, RuleRecord};
use crate::error::{Error, Failure};
use crate::sandbox::Sandbox;
use crate::session::Shared;
use crate::{ask, time, tools};

/// Writes out what would change at the places of a permit.
pub(crate) type Diff<'a> = &'a dyn Fn(&Sandbox, &Permit) -> Option<Shown>;

/// An action with what a person should see when asked about it.
pub(crate) struct Call<'a> {
    pub(crate) action: Action,
    /// Arguments beyond the paths.
    pub(crate) details: Vec<(String, String)>,
    /// Writes out what would change, and binds a yes to that.
    pub(crate) diff: Option<Diff<'a>>,
}

impl Call<'_> {
    pub(crate) fn of(action: Action) -> Self {
        Call { action, details: Vec::new(), diff: None }
    }
}

/// What an effect came to, with the number of bytes for the record.
pub(crate) struct Done<T> {
    pub(crate) value: T,
    pub(crate) bytes: Option<u64>,
}

impl Sandbox {
    /// Reads a path of the agent's. A text that is no path is a refusal, and
    /// is written down like any other.
    pub(crate) fn target(
        &self,
        tool: &'static str,
        verb: Verb,
        given: &str,
    ) -> Result<Target, Error> {
        let target = Target::parse(given, self.grant().view());
        let target = target.map(|target| {
            let has_tmp = self.has_tmp(&target.path);
            target.with_tmp(has_tmp)
        });
        target.map_err(|reason| {
            let readable = self.grant().view().readable();
            let denial = Denial::BadPath { path: given.to_owned(), reason, readable };
            let mut record = self.record(tool, verb, shown(given), None);
            refused(&mut record, &denial);
            match self.write_down(&record) {
                Ok(()) => denial.into(),
                Err(source) => {
                    Error::Unrecorded { verb: verb.phrase(), path: given.to_owned(), source }
                }
            }
        })
    }

    /// Writes down that a tool was called with arguments that it does not take.
    pub(crate) fn bad_call(&self, tool: &'static str, reason: String) -> Error {
        let mut record = self.record(tool, Verb::Info, String::new(), None);
        record.action = "call".into();
        record.verdict = "deny".into();
        record.outcome = "refused".into();
        record.code = Some("bad_arguments".into());
        record.error = Some(shown(reason.lines().next().unwrap_or_default()).into());
        match self.write_down(&record) {
            Ok(()) => Error::BadArguments { tool: tool.to_owned(), reason },
            Err(source) => Error::Unrecorded { verb: "use", path: tool.to_owned(), source },
        }
    }

    /// Writes down that a tool was called that does not exist.
    pub(crate) fn no_such_tool(&self, tool: &str, available: Vec<String>) -> Error {
        let denial = Denial::NoTool { tool: tool.to_owned(), available };
        let mut record = self.record(shown(tool), Verb::Info, String::new(), None);
        record.action = "call".into();
        refused(&mut record, &denial);
        match self.write_down(&record) {
            Ok(()) => denial.into(),
            Err(source) => Error::Unrecorded { verb: "use", path: tool.to_owned(), source },
        }
    }

    /// Judges an action, asks where the rules say so, does it, writes it down.
    ///
    /// What changes something is written down before it is done as well; what
    /// only looks is written down before anything of it is returned. Either way
    /// nothing happens that could not be recorded.
    pub(crate) fn perform<T>(
        &self,
        call: Call<'_>,
        act: impl FnOnce(&Sandbox, &Permit) -> Result<Done<T>, Fault>,
    ) -> Result<T, Error> {
        self.now().perform_now(call, act)
    }

    fn perform_now<T>(
        &self,
        call: Call<'_>,
        act: impl FnOnce(&Sandbox, &Permit) -> Result<Done<T>, Fault>,
    ) -> Result<T, Error> {
        let start = Instant::now();
        let Call { action, details, diff } = call;
        let (verb, given) = (action.verb, &action.target.given);
        let given_to = action.to.as_ref().map(|to| to.given.clone());
        let path = action.target.path.shown();
        let to = action.to.as_ref().map(|to| to.path.shown());
        let mut record = self.record(action.tool, verb, path, to);
        let unrecorded =
            |source| Error::Unrecorded { verb: verb.phrase(), path: given.to_owned(), source };

        let Judgement { verdict, rule } = judge(self.grant(), &action);
        record.rule = Some(rule_record(&rule));
        let permit = match verdict {
            Verdict::Allow(permit) => Ok(permit),
            Verdict::Ask(question) => {
                record.verdict = "ask".into();
                self.ask(question, &rule, details, diff, &mut record)
            }
            Verdict::Deny(mut denial) => {
                record.verdict = "deny".into();
                name_what_exists(&mut denial);
                Err(denial.into())
            }
        };
        let permit = match permit {
            Ok(permit) => permit,
            Err(error) => {
                if let Error::Denied(denial) = &error {
                    refused(&mut record, denial);
                    record.duration_us = start.elapsed().as_micros() as u64;
                    self.write_down(&record).map_err(unrecorded)?;
                }
                return Err(error);
            }
        };

        if let Some(zone) = taint::by(self.grant().view(), verb, &action.target.path) {
            record.taints =
                self.taint(&format!("{verb} {}", record.path)).then(|| zone.to_owned().into());
        }
        if verb.changes() {
            record.outcome = "begun".into();
            self.write_down(&record).map_err(unrecorded)?;
        }
        let outcome = act(self, &permit);
        record.duration_us = start.elapsed().as_micros() as u64;
        match &outcome {
            Ok(done) => {
                record.outcome = "done".into();
                record.bytes = done.bytes;
            }
            Err(fault) => {
                // A failure can tell names of what is there.
                let view = self.grant().view();
                let places = permit.places().iter();
                let mut zones = places.map(|place| &view.mount_at(place.mount()).zone);
                if let Some(zone) = zones.find(|zone| zone.untrusted.is_some()) {
                    let news = self.taint(&format!("{verb} {}", record.path));
                    record.taints = news.then(|| zone.name.clone().into()).or(record.taints);
                }
                record.outcome = "failed".into();
                record.code = Some(fault.code().into());
                record.error = Some(describe(fault).into());
            }
        }
        let written = self.write_down(&record);
        match (outcome, written) {
            (Ok(done), Ok(())) => Ok(done.value),
            (Ok(_), Err(source)) if verb.changes() => {
                Err(Error::HalfRecorded { path: given.to_owned(), source })
            }
            (Ok(_), Err(source)) => Err(unrecorded(source)),
            (Err(fault), _) => {
                let leads_to = match (&fault, permit.place()) {
                    (Fault::Link { target: Some(target) }, Some(place)) => {
                        Some(self.grant().view().agent_path(place.mount(), target))
                    }
                    _ => None,
                };
                let (verb, path) = (verb.phrase(), given.to_owned());
                Err(Box::new(Failure { verb, path, to: given_to, fault, leads_to }).into())
            }
        }
    }

    /// Puts a question about an action, unless the answer is remembered.
    fn ask(
        &self,
        question: Question,
        rule: &Rule,
        details: Vec<(String, String)>,
        diff: Option<Diff<'_>>,
        record: &mut Record<'_>,
    ) -> Result<Permit, Error> {
        let action = question.action().clone();
        let key = Key::of(&action, &details);
        if self.remembers(|recall| recall(key.clone()), record) {
            return Ok(question.approved());
        }
        // Whoever says yes to everything has not looked at anything.
        let diff = diff.filter(|_| self.is_considered());
        let shown = diff.and_then(|diff| diff(self, question.permit()));
        let mut details = details;
        if shown.as_ref().is_some_and(|shown| shown.executable) {
            details.push(("executable".to_owned(), "true".to_owned()));
        }
        let (mut preview, mut sha256, mut fingerprints) = (None, None, Vec::new());
        if let Some(shown) = shown {
            (preview, sha256, fingerprints) = (shown.preview, shown.sha256, shown.fingerprints);
        }
        let request = Request {
            id: record.id.to_string(),
            worker: self.grant().worker().map(str::to_owned),
            tool: action.tool.to_owned(),
            verb: action.verb.to_string(),
            path: action.target.path.to_string(),
            to: action.to.as_ref().map(|to| to.path.to_string()),
            reasons: ask::reasons(&question.reasons, rule),
            details,
            partial: preview.as_ref().is_some_and(|preview| !preview.whole),
            diff: preview.map(|preview| preview.text),
            sha256: sha256.as_ref().map(hex),
            fingerprints: fingerprints.clone(),
            ..Request::default()
        };
        let summary = request.summary();
        let keep = |remember: &Remember| (*remember == Remember::Session).then_some((key, summary));
        let (verb, path) = (action.verb.phrase(), action.target.given);
        match self.put(request, keep, record) {
            Ok(()) => Ok(question.approved_as_shown(&fingerprints)),
            Err(not_yes) => Err(not_yes.error(
                |note| Denial::Declined { verb, path: path.clone(), note },
                |reason| Denial::Unasked { verb, path: path.clone(), reason },
            )),
        }
    }

    pub(crate) fn record(
        &self,
        tool: impl Into<Cow<'static, str>>,
        verb: Verb,
        path: String,
        to: Option<String>,
    ) -> Record<'_> {
        Record {
            worker: self.grant().worker().map(Cow::Borrowed),
            action: verb.as_str().into(),
            to: to.map(Cow::Owned),
            tainted: self.tainted().is_some(),
            ..self.shared().record(tool, path)
        }
    }

    pub(crate) fn write_down(&self, record: &Record<'_>) -> std::io::Result<()> {
        self.shared().write_down(record)
    }
}

impl Shared {
    /// Returns a record of something that is allowed, to be filled in.
    pub(crate) fn record(&self, tool: impl Into<Cow<'static, str>>, path: String) -> Record<'_> {
        Record {
            id: self.next_id().into(),
            time: time::utc(SystemTime::now()).into(),
            session: self.id.as_str().into(),
            project: self.project.as_str().into(),
            worker: None,
            tool: tool.into(),
            action: Cow::default(),
            path: path.into(),
            to: None,
            verdict: "allow".into(),
            rule: None,
            answer: None,
            outcome: Cow::default(),
            code: None,
            error: None,
            bytes: None,
            run: None,
            work: None,
            taints: None,
            tainted: false,
            duration_us: 0,
        }
    }

    pub(crate) fn write_down(&self, record: &Record<'_>) -> std::io::Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        match log.append(record) {
            Err(_) if self.policy.audit.value == Audit::BestEffort => Ok(()),
            result => result,
        }
    }
}

/// Leaves out of a refusal the tools that cannot be called here.
pub(crate) fn name_what_exists(denial: &mut Denial) {
    if let Denial::NoTool { available, .. } = denial {
        available.retain(|name| tools::all().iter().any(|tool| tool.name == name));
    }
}

pub(crate) fn refused(record: &mut Record<'_>, denial: &Denial) {
    if record.verdict == "allow" {
        record.verdict = "deny".into();
    }
    record.outcome = "refused".into();
    record.code = Some(denial.code().into());
    record.error = Some(denial.for_operator().into());
}

pub(crate) fn rule_record(rule: &Rule) -> RuleRecord<'_> {
    let place = rule.at.file_line();
    RuleRecord {
        file: place.map(|(file, _)| file.into()),
        line: place.map(|(_, line)| line),
        says: rule.says.as_str().into(),
    }
}

/// Writes a fault out for the operator, with what the system said.
fn describe(fault: &Fault) -> String {
    let text = fault.to_string();
    let first = text.lines().next().unwrap_or_default();
    match std::error::Error::source(fault) {
        Some(source) => format!("{first} ({source})"),
        None => first.to_owned(),
    }
}
