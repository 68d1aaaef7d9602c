//! A project in a temporary directory, and a model that is a function.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use zonekeep::approve::Approver;
use zonekeep::command::Confine;
use zonekeep::confine::tree::Launcher;
use zonekeep::policy::config::Overrides;
use zonekeep::trust::TrustStore;
use zonekeep::{Project, Session, StateDir, Stop};
use zonekeep_worker::event::Event;
use zonekeep_worker::model::{
    Call, CallResult, Delta, Message, Model, ModelError, Reply, Request, Usage,
};
use zonekeep_worker::{Registry, Runner, Settings};

/// A project with a state directory beside it.
pub struct Place {
    pub temp: tempfile::TempDir,
    /// The program that builds sandboxes for commands.
    pub launcher: Option<&'static str>,
}

impl Place {
    pub fn new(config: &str) -> Self {
        let place = Place { temp: tempfile::tempdir().unwrap(), launcher: None };
        fs::create_dir(place.path("")).unwrap();
        place.file("zonekeep.yaml", config)
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.temp.path().canonicalize().unwrap().join("project").join(path)
    }

    pub fn file(self, path: &str, text: &str) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub fn worker(self, name: &str, front: &str) -> Self {
        let text = format!("---\nname: {name}\n{front}\n---\nYou are {name}.\n");
        self.file(&format!("workers/{name}.worker"), &text)
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    pub fn state(&self) -> StateDir {
        StateDir::at(self.temp.path().join("state"))
    }

    pub fn project(&self) -> Project {
        Project::at(&self.path(""), &Overrides::default()).unwrap()
    }

    /// Returns somebody who runs the workers, with models that `open` opens.
    pub fn runner_with(
        &self,
        approver: impl Approver + 'static,
        settings: Settings,
        open: impl Fn(&str) -> Result<Arc<dyn Model>, ModelError> + Send + Sync + 'static,
    ) -> (Runner, Events) {
        let project = self.project();
        let reach = Session::reach(&project, &self.state()).unwrap();
        TrustStore::new(&self.state()).trust(&project, &reach).unwrap();
        let confine = Confine { launcher: self.launcher.map(Launcher::at), ..Confine::default() };
        let session = Session::open_with(&project, &self.state(), approver, confine).unwrap();
        let registry = Registry::find(&project).unwrap();
        let events = Events::default();
        let seen = events.clone();
        let runner = Runner::new(session, registry, &self.state(), open, settings);
        (runner.watched_by(move |event: &Event<'_>| seen.add(event)), events)
    }

    /// Returns somebody who runs the workers, with a function for a model.
    pub fn runner(
        &self,
        approver: impl Approver + 'static,
        settings: Settings,
        model: impl Fn(&Request<'_>) -> Result<Reply, ModelError> + Send + Sync + 'static,
    ) -> (Runner, Events) {
        let model: Arc<dyn Model> = Arc::new(Function(Box::new(model)));
        let settings = Settings { usual_model: Some("test:model".to_owned()), ..settings };
        self.runner_with(approver, settings, move |_: &str| Ok(Arc::clone(&model)))
    }

    /// Returns the records of all sessions, in order.
    pub fn records(&self) -> Vec<Value> {
        let dir = self.temp.path().join("state/audit");
        let logs = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        let text: String = logs.map(|log| fs::read_to_string(log).unwrap()).collect();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// What happened, as JSON.
#[derive(Clone, Default)]
pub struct Events(Arc<Mutex<Vec<Value>>>);

impl Events {
    fn add(&self, event: &Event<'_>) {
        self.0.lock().unwrap().push(serde_json::to_value(event).unwrap());
    }

    pub fn all(&self) -> Vec<Value> {
        self.0.lock().unwrap().clone()
    }

    pub fn of(&self, kind: &str) -> Vec<Value> {
        self.all().into_iter().filter(|event| event["event"] == kind).collect()
    }
}

type Respond = dyn Fn(&Request<'_>) -> Result<Reply, ModelError> + Send + Sync;

struct Function(Box<Respond>);

impl Model for Function {
    fn name(&self) -> &str {
        "test:model"
    }

    fn respond(
        &self,
        request: &Request<'_>,
        tell: &mut dyn FnMut(Delta<'_>),
        stop: &Stop,
    ) -> Result<Reply, ModelError> {
        if stop.is_said() {
            return Err(ModelError::Stopped);
        }
        let reply = (self.0)(request)?;
        tell(Delta::Text(&reply.text));
        Ok(reply)
    }
}

pub const USED: Usage = Usage { input: 10, output: 5, cached: 0 };

pub fn says(text: &str) -> Result<Reply, ModelError> {
    Ok(Reply { text: text.to_owned(), usage: USED, ..Reply::default() })
}

pub fn calls(calls: &[(&str, Value)]) -> Result<Reply, ModelError> {
    let calls = calls.iter().enumerate().map(|(i, (name, arguments))| Call {
        id: format!("call-{i}"),
        name: (*name).to_owned(),
        arguments: arguments.clone(),
        malformed: None,
    });
    Ok(Reply { calls: calls.collect(), usage: USED, ..Reply::default() })
}

/// Returns how often the model has spoken.
pub fn turn(request: &Request<'_>) -> usize {
    request.messages.iter().filter(|m| matches!(m, Message::Model { .. })).count()
}

/// Returns what the last calls came to.
pub fn results(request: &Request<'_>) -> Vec<CallResult> {
    match request.messages.last() {
        Some(Message::Results { results }) => results.clone(),
        _ => Vec::new(),
    }
}

/// Returns what the worker was given.
pub fn input(request: &Request<'_>) -> String {
    match request.messages.first() {
        Some(Message::User { text, .. }) => text.clone(),
        _ => String::new(),
    }
}

pub fn tool_names(request: &Request<'_>) -> Vec<String> {
    request.tools.iter().map(|tool| tool.name.clone()).collect()
}
