//! Runs of workers: judged, asked about and written down like everything else.

use std::borrow::Cow;
use std::io;
use std::time::Instant;

use zonekeep_policy::call::{
    CallJudgement, CallPermit, CallQuestion, CallRequest, CallVerdict, Callees, judge_call,
};
use zonekeep_policy::denial::shown;
use zonekeep_policy::{Denial, Needs, Rule, Verb};

use crate::approve::{self, Key, Remember};
use crate::ask;
use crate::audit::{Record, WorkRecord};
use crate::error::Error;
use crate::perform::{refused, rule_record};
use crate::sandbox::Sandbox;

/// The most characters of an input that a question shows.
const MAX_SHOWN: usize = 2_000;

/// A worker that is called by another one.
#[derive(Debug, Clone, Copy)]
pub struct WorkerCall<'a> {
    /// The worker to be called.
    pub worker: &'a str,
    /// Those that the caller's file names.
    pub callees: &'a Callees,
    /// The workers that there are.
    pub workers: &'a [String],
    /// Who called whom, up to the caller.
    pub chain: &'a [String],
    /// What it is given.
    pub input: &'a str,
    /// Paths of the files that it is given, as the caller sees them.
    pub attachments: &'a [String],
}

/// A call that may be made.
#[derive(Debug)]
pub struct PermittedCall {
    sandbox: Sandbox,
    permit: CallPermit,
    record: Record<'static>,
    begun: Instant,
}

/// A run that has begun.
#[derive(Debug)]
pub struct Work {
    sandbox: Sandbox,
    record: Record<'static>,
    begun: Instant,
}

impl Sandbox {
    /// Writes down that this sandbox's worker begins to run.
    pub fn begin_work(&self, work: WorkRecord) -> io::Result<Work> {
        let mut record = self.record("work", Verb::Info, String::new(), None);
        record.action = "work".into();
        record.outcome = "begun".into();
        record.work = Some(Box::new(work));
        let record = record.into_owned();
        self.write_down(&record)?;
        Ok(Work { sandbox: self.clone(), record, begun: Instant::now() })
    }

    /// Judges a call of another worker, and asks where the rules say so. What is
    /// refused is written down.
    pub fn permit_call(&self, call: &WorkerCall<'_>) -> Result<PermittedCall, Error> {
        let this = self.now();
        let begun = Instant::now();
        let mut record = this.record("call_worker", Verb::Info, String::new(), None);
        record.action = "call".into();
        record.work = Some(Box::new(WorkRecord {
            worker: shown(call.worker),
            chain: call.chain.to_vec(),
            ..WorkRecord::default()
        }));
        let mut record = record.into_owned();
        let WorkerCall { worker, callees, workers, chain, .. } = *call;
        let request = CallRequest { worker, callees, workers, chain };
        let CallJudgement { verdict, rule } = judge_call(this.grant(), request);
        record.rule = Some(rule_record(&rule).into_owned());
        let permit = match verdict {
            CallVerdict::Allow(permit) => Ok(permit),
            CallVerdict::Deny(denial) => Err(denial.into()),
            CallVerdict::Ask(question) => {
                record.verdict = "ask".into();
                this.ask_call(question, &rule, call, &mut record)
            }
        };
        match permit {
            Ok(permit) => Ok(PermittedCall { sandbox: self.clone(), permit, record, begun }),
            Err(Error::Denied(denial)) => Err(this.refuse_call(record, denial, begun)),
            Err(error) => Err(error),
        }
    }

    fn refuse_call(&self, mut record: Record<'static>, denial: Denial, begun: Instant) -> Error {
        refused(&mut record, &denial);
        record.duration_us = begun.elapsed().as_micros() as u64;
        match self.write_down(&record) {
            Ok(()) => denial.into(),
            Err(source) => {
                let path = record.about().to_owned();
                Error::Unrecorded { verb: "call", path, source }
            }
        }
    }

    fn ask_call(
        &self,
        question: CallQuestion,
        rule: &Rule,
        call: &WorkerCall<'_>,
        record: &mut Record<'static>,
    ) -> Result<CallPermit, Error> {
        let worker = self.grant().worker().map(str::to_owned);
        let key = Key::Call { worker: worker.clone(), callee: call.worker.to_owned() };
        if self.remembers(|recall| recall(key.clone()), record) {
            return Ok(question.approved());
        }
        let input: String = call.input.chars().take(MAX_SHOWN).collect();
        let mut details = vec![("input".to_owned(), input)];
        let length = call.input.chars().count();
        if length > MAX_SHOWN {
            details.push(("input length".to_owned(), length.to_string()));
        }
        details.extend(call.attachments.iter().map(|path| ("attachment".to_owned(), path.clone())));
        let request = approve::Request {
            id: record.id.to_string(),
            worker,
            tool: "call_worker".to_owned(),
            verb: "call".to_owned(),
            path: call.worker.to_owned(),
            reasons: ask::reasons(&question.reasons, rule),
            details,
            ..approve::Request::default()
        };
        let summary = request.summary();
        let keep = |remember: &Remember| (*remember == Remember::Session).then_some((key, summary));
        match self.put(request, keep, record) {
            Ok(()) => Ok(question.approved()),
            Err(not_yes) => Err(not_yes.error(
                |note| Denial::CallDeclined { worker: call.worker.to_owned(), note },
                |reason| Denial::CallUnasked { worker: call.worker.to_owned(), reason },
            )),
        }
    }
}

impl PermittedCall {
    /// Returns the sandbox of the worker that is called: what it needs, and
    /// never more than its caller has. Writes down that it begins, or that it
    /// needs more.
    pub fn begin(self, needs: &Needs, work: WorkRecord) -> Result<(Sandbox, Work), Error> {
        let PermittedCall { sandbox, permit, mut record, begun } = self;
        let child = match sandbox.narrow(needs) {
            Ok(child) => child,
            Err(reason) => {
                let worker = permit.worker().to_owned();
                let denial = Denial::Exceeds { worker, reason };
                return Err(sandbox.refuse_call(record, denial, begun));
            }
        };
        record.outcome = "begun".into();
        record.work = Some(Box::new(work));
        sandbox.write_down(&record).map_err(|source| Error::Unrecorded {
            verb: "call",
            path: permit.worker().to_owned(),
            source,
        })?;
        Ok((child, Work { sandbox, record, begun }))
    }

    /// Writes down that the call was allowed and could not be made.
    pub fn fail(self, code: &'static str, why: &str) {
        let PermittedCall { sandbox, mut record, begun, .. } = self;
        record.outcome = "failed".into();
        record.code = Some(code.into());
        record.error = Some(why.to_owned().into());
        record.duration_us = begun.elapsed().as_micros() as u64;
        let _ = sandbox.write_down(&record);
    }
}

impl Work {
    /// Returns the names of the files that the worker was given.
    pub fn attachments(&self) -> &[String] {
        self.record.work.as_ref().map_or(&[], |work| &work.attachments)
    }

    /// Writes down what the run came to.
    pub fn end(mut self, end: WorkRecord) -> io::Result<()> {
        let answered = end.ended.as_deref() == Some("answer");
        self.record.outcome = if answered { "done".into() } else { "failed".into() };
        self.record.code = end.ended.clone().filter(|_| !answered).map(Cow::Owned);
        if let Some(work) = &mut self.record.work {
            let WorkRecord { worker, chain, model, attachments, resumes, .. } = *work.clone();
            **work = WorkRecord { worker, chain, model, attachments, resumes, ..end };
        }
        self.write()
    }

    /// Writes down that the run could not go on.
    pub fn fail(mut self, why: &str) -> io::Result<()> {
        self.record.outcome = "failed".into();
        self.record.code = Some("failed".into());
        self.record.error = Some(why.to_owned().into());
        self.write()
    }

    fn write(mut self) -> io::Result<()> {
        self.record.tainted = self.sandbox.tainted().is_some();
        self.record.duration_us = self.begun.elapsed().as_micros() as u64;
        self.sandbox.write_down(&self.record)
    }
}
