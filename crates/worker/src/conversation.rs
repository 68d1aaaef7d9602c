//! Conversations with a worker: begun, gone on with, and on record.

use std::io;

use zonekeep::Sandbox;
use zonekeep::audit::WorkRecord;

use crate::attach;
use crate::model::{File, Message};
use crate::registry::Worker;
use crate::run::{Frame, Outcome, Runner, WorkError, ended, started, work_end};
use crate::transcript::{self, Progress, Transcript};

impl Runner {
    /// Begins a conversation with a worker, which gets what it needs of what
    /// the project has.
    pub fn begin(&self, worker: &str) -> Result<Conversation<'_>, WorkError> {
        let frame = self.first_frame(worker)?;
        let progress = Progress {
            worker: frame.name().to_owned(),
            project: self.session.policy().project.display().to_string(),
            model: frame.model.name().to_owned(),
            ..Progress::default()
        };
        Ok(Conversation { runner: self, frame, progress, transcript: None, resumes: None })
    }

    /// Goes on with the conversation of an earlier session, from the last turn
    /// that was completed.
    pub fn resume(&self, session: &str) -> Result<Conversation<'_>, WorkError> {
        let project = &self.session.policy().project;
        let mut progress = transcript::read(&self.state, session, project)?;
        let frame = self.first_frame(&progress.worker)?;
        frame.budget.spend(progress.usage);
        if let Some(by) = &progress.tainted {
            frame.sandbox.taint(by);
        }
        progress.model = frame.model.name().to_owned();
        let resumes = Some(session.to_owned());
        Ok(Conversation { runner: self, frame, progress, transcript: None, resumes })
    }

    /// Runs a worker once. Files are read as the project itself can read them.
    pub fn work(
        &self,
        worker: &str,
        input: &str,
        attachments: &[String],
    ) -> Result<Outcome, WorkError> {
        let mut conversation = self.begin(worker)?;
        let files = conversation.read(attachments)?;
        conversation.say(input, files)
    }
}

/// A conversation with a worker, and what it has come to.
#[derive(Debug)]
pub struct Conversation<'r> {
    runner: &'r Runner,
    frame: Frame,
    progress: Progress,
    transcript: Option<Transcript>,
    resumes: Option<String>,
}

impl Conversation<'_> {
    /// Returns the worker.
    pub fn worker(&self) -> &Worker {
        &self.frame.worker
    }

    /// Returns the worker's sandbox.
    pub fn sandbox(&self) -> &Sandbox {
        &self.frame.sandbox
    }

    /// Returns a sandbox with all that the project has.
    pub fn project(&self) -> Sandbox {
        self.runner.session.sandbox()
    }

    /// Returns what was said so far.
    pub fn messages(&self) -> &[Message] {
        &self.progress.messages
    }

    /// Returns whether the worker has still to answer what it was told last.
    pub fn is_open(&self) -> bool {
        !matches!(self.progress.messages.last(), None | Some(Message::Model { .. }))
    }

    /// Reads files that go along with the next input, as the project itself can.
    pub fn read(&self, paths: &[String]) -> Result<Vec<File>, WorkError> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let reader = self.runner.session.sandbox();
        let files = attach::gather(&reader, paths, &self.frame.worker.file.attachments)?;
        attach::taint(&self.frame.sandbox, &reader, paths);
        // What is attached is read by the worker.
        if let Some(by) = reader.tainted() {
            self.frame.sandbox.taint(by);
        }
        Ok(files)
    }

    /// Says something to the worker, and waits until it has answered.
    pub fn say(&mut self, input: &str, files: Vec<File>) -> Result<Outcome, WorkError> {
        let run = &self.frame.worker.file.run;
        if input.trim().is_empty() && files.is_empty() && !run.allow_empty_input {
            return Err(WorkError::NoInput { worker: self.frame.name().to_owned() });
        }
        let names = files.iter().map(|file| file.name.clone()).collect();
        let message = Message::User { text: input.to_owned(), files };
        self.progress.messages.push(message.clone());
        self.progress.tainted = self.frame.sandbox.tainted().map(str::to_owned);
        if let Some(transcript) = &mut self.transcript {
            let kept = transcript.more(&[message], &self.progress);
            kept.map_err(|source| WorkError::Unkept { source })?;
        }
        self.go(input, names)
    }

    /// Lets the worker go on where it was interrupted.
    pub fn go_on(&mut self) -> Result<Outcome, WorkError> {
        if !self.is_open() {
            let session = self.resumes.clone().unwrap_or_default();
            return Err(WorkError::Over { session });
        }
        self.go("", Vec::new())
    }

    fn go(&mut self, input: &str, attachments: Vec<String>) -> Result<Outcome, WorkError> {
        let (runner, frame) = (self.runner, &self.frame);
        if self.transcript.is_none() {
            let begun = Transcript::begin(&runner.state, runner.session.id(), &self.progress);
            self.transcript = Some(begun.map_err(|source| WorkError::Unkept { source })?);
        }
        let work = WorkRecord {
            worker: frame.name().to_owned(),
            chain: frame.chain.clone(),
            model: Some(frame.model.name().to_owned()),
            attachments,
            resumes: self.resumes.clone(),
            ..WorkRecord::default()
        };
        let begun = frame.sandbox.begin_work(work).map_err(|e| unrecorded(&e))?;
        started(runner, frame, input, begun.attachments(), self.resumes.as_deref());
        let outcome = runner.converse(frame, &mut self.progress, self.transcript.as_mut());
        // What it left running has no right to go on.
        frame.sandbox.background().stop_all();
        let calls = runner.tally.calls_of(frame.run);
        let recorded = match &outcome {
            Ok(outcome) => begun.end(work_end(outcome, calls)),
            Err(error) => begun.fail(&error.to_string()),
        };
        let outcome = outcome?;
        recorded.map_err(|e| unrecorded(&e))?;
        if let Some(transcript) = &mut self.transcript {
            let kept = transcript.end(outcome.ended);
            kept.map_err(|source| WorkError::Unkept { source })?;
        }
        ended(runner, frame, &outcome);
        Ok(outcome)
    }
}

fn unrecorded(error: &io::Error) -> WorkError {
    WorkError::Unrecorded { source: io::Error::new(error.kind(), error.to_string()) }
}
