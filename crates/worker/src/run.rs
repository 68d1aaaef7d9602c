//! The loop: a model is asked, the tools that it calls are called, until it has
//! an answer or something ends it.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use zonekeep::audit::WorkRecord;
use zonekeep::policy::ExceedsParent;
use zonekeep::policy::call::Callees;
use zonekeep::policy::model_name;
use zonekeep::{Sandbox, Session, StateDir, Stop, tools};

use crate::attach::AttachError;
use crate::budget::{Budget, Timer};
use crate::calls;
use crate::event::{Event, Watcher, What};
use crate::model::{Delta, End, Message, Model, ModelError, Reply, Request, ToolSpec, Usage};
use crate::registry::{Registry, RegistryError, Worker};
use crate::tally::{Report, Tally};
use crate::transcript::{Progress, ResumeError, Transcript};
use crate::{context, delegate};

/// How many runs there are in one session, workers that are called included.
const MAX_RUNS: u64 = 10_000;

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The model gave its answer.
    Answer,
    /// The model was asked as often as it may be.
    MaxTurns,
    /// All tokens are used.
    Budget,
    /// The time is over.
    Time,
    /// Somebody said stop.
    Stopped,
    /// Something went wrong.
    Failed,
}

impl Ended {
    /// Returns the word for it in records and events.
    pub fn as_str(self) -> &'static str {
        match self {
            Ended::Answer => "answer",
            Ended::MaxTurns => "max_turns",
            Ended::Budget => "budget",
            Ended::Time => "time",
            Ended::Stopped => "stopped",
            Ended::Failed => "failed",
        }
    }
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// Why it ended.
    pub ended: Ended,
    /// The answer, or what went wrong.
    pub output: String,
    /// The answer as JSON, where the worker has a schema for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// How often the model was asked.
    pub turns: u64,
    /// What that cost, with the workers below.
    pub usage: Usage,
    /// By what the worker was tainted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tainted: Option<String>,
}

/// Why a run does not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkError {
    /// There is no such worker, or its file cannot be used.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The worker needs more than there is.
    #[error(transparent)]
    Exceeds(#[from] ExceedsParent),
    /// No model is named.
    #[error("the worker '{worker}' has no model")]
    NoModel {
        /// The worker.
        worker: String,
    },
    /// The model is not one that the worker works with.
    #[error("the worker '{worker}' does not work with the model '{model}'; it works with {}", allowed.join(", "))]
    Incompatible {
        /// The worker.
        worker: String,
        /// The model.
        model: String,
        /// Those that it works with.
        allowed: Vec<String>,
    },
    /// The model cannot be had.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// There were enough runs.
    #[error("there were {MAX_RUNS} runs in this session, which is enough")]
    TooMany,
    /// There is nothing to work on.
    #[error("the worker '{worker}' needs an input")]
    NoInput {
        /// The worker.
        worker: String,
    },
    /// A file cannot go along.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// There is nothing to go on with.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// The conversation is over: it was answered.
    #[error("the run of session '{session}' has ended; there is nothing to go on with")]
    Over {
        /// The session.
        session: String,
    },
    /// What is said cannot be kept.
    #[error("the conversation cannot be written down: {source}")]
    Unkept {
        /// What the system said.
        source: io::Error,
    },
    /// What happens cannot be recorded, so it does not happen.
    #[error("the audit log cannot be written: {source}")]
    Unrecorded {
        /// What the system said.
        source: io::Error,
    },
}

/// Opens a model by its name.
pub type OpenModel = dyn Fn(&str) -> Result<Arc<dyn Model>, ModelError> + Send + Sync;

/// What somebody who starts a run has a say in.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The model for all workers, whatever their files say.
    pub model: Option<String>,
    /// The model for workers when neither their files nor the project's say.
    pub usual_model: Option<String>,
    /// How often the model is asked in the first worker's run.
    pub max_turns: Option<u64>,
    /// How many tokens may be used in all.
    pub budget: Option<u64>,
    /// How long it may take in all.
    pub time: Option<Duration>,
}

/// Runs workers in one session.
pub struct Runner {
    pub(crate) session: Session,
    pub(crate) registry: Registry,
    pub(crate) settings: Settings,
    pub(crate) state: StateDir,
    open: Box<OpenModel>,
    models: Mutex<BTreeMap<String, Arc<dyn Model>>>,
    watcher: Box<dyn Watcher>,
    stop: Stop,
    next: AtomicU64,
    pub(crate) tally: Tally,
    pub(crate) places: calls::Places,
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner").field("session", &self.session).finish_non_exhaustive()
    }
}

/// One worker at work.
pub(crate) struct Frame {
    pub(crate) run: u64,
    pub(crate) worker: Arc<Worker>,
    pub(crate) sandbox: Sandbox,
    /// Who called whom, up to this worker.
    pub(crate) chain: Vec<String>,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) max_turns: u64,
    _timer: Option<Timer>,
}

impl Frame {
    pub(crate) fn name(&self) -> &str {
        &self.worker.file.name
    }
}

impl Runner {
    /// Returns somebody who runs the workers of `registry` in `session`. What is
    /// said is kept below `state`; models are opened by `open`.
    pub fn new(
        session: Session,
        registry: Registry,
        state: &StateDir,
        open: impl Fn(&str) -> Result<Arc<dyn Model>, ModelError> + Send + Sync + 'static,
        settings: Settings,
    ) -> Self {
        Runner {
            session,
            registry,
            settings,
            state: state.clone(),
            open: Box::new(open),
            models: Mutex::default(),
            watcher: Box::new(|_: &Event<'_>| {}),
            stop: Stop::new(),
            next: AtomicU64::new(1),
            tally: Tally::default(),
            places: calls::Places::default(),
        }
    }

    /// Returns the same, with somebody who looks on.
    #[must_use]
    pub fn watched_by(mut self, watcher: impl Watcher + 'static) -> Self {
        self.watcher = Box::new(watcher);
        self
    }

    /// Returns the same, whose runs end when `stop` is said.
    #[must_use]
    pub fn stopped_by(mut self, stop: &Stop) -> Self {
        self.stop = stop.clone();
        self
    }

    /// Returns the session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Returns the workers.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Returns what all runs so far came to.
    pub fn report(&self) -> Report {
        self.tally.report(&self.session.policy().prices)
    }

    /// Returns a word that is said when the time of a run is over, or when all
    /// is stopped; and what keeps it until the run has ended.
    pub(crate) fn stop_in_time(&self, budget: &Budget) -> (Stop, Option<Timer>) {
        let stop = self.stop.below();
        let timer = budget.deadline().map(|deadline| Timer::start(stop.clone(), deadline));
        (stop, timer)
    }

    pub(crate) fn first_frame(&self, name: &str) -> Result<Frame, WorkError> {
        let name = self.registry.name_of(name)?;
        let worker = self.registry.get(&name)?;
        let sandbox = self.session.sandbox_for(&worker.file.needs)?;
        let policy = self.session.policy();
        let settings = &self.settings;
        let limits = worker.file.run.limits(&policy.run);
        let time = settings.time.or(limits.time_ms.map(Duration::from_millis));
        let budget = Budget::new(settings.budget.or(limits.budget), time, None);
        let mut frame = self.frame(worker, sandbox, vec![name], budget, None)?;
        frame.max_turns = settings.max_turns.unwrap_or(frame.max_turns);
        Ok(frame)
    }

    /// Puts together what a run needs; `caller` is the model of whoever calls.
    pub(crate) fn frame(
        &self,
        worker: Arc<Worker>,
        sandbox: Sandbox,
        chain: Vec<String>,
        budget: Arc<Budget>,
        caller: Option<&str>,
    ) -> Result<Frame, WorkError> {
        let (file, policy) = (&worker.file, self.session.policy());
        let settings = &self.settings;
        let named = [settings.model.as_deref(), file.model.as_deref(), caller];
        let usual =
            [policy.model.as_ref().map(|m| m.value.as_str()), settings.usual_model.as_deref()];
        let Some(name) = named.into_iter().chain(usual).flatten().next() else {
            return Err(WorkError::NoModel { worker: file.name.clone() });
        };
        if let Some(allowed) = &file.compatible_models
            && !allowed.iter().any(|pattern| model_name::matches(pattern, name))
        {
            let (worker, model) = (file.name.clone(), name.to_owned());
            return Err(WorkError::Incompatible { worker, model, allowed: allowed.clone() });
        }
        let model = self.model(name)?;
        let (stop, timer) = self.stop_in_time(&budget);
        let sandbox = sandbox.stopped_by(&stop);
        let max_turns = file.run.limits(&policy.run).max_turns;
        let run = self.next.fetch_add(1, Ordering::SeqCst);
        if run > MAX_RUNS {
            return Err(WorkError::TooMany);
        }
        Ok(Frame { run, sandbox, chain, model, budget, max_turns, worker, _timer: timer })
    }

    fn model(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        let mut models: MutexGuard<'_, _> =
            self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = models.get(name) {
            return Ok(Arc::clone(model));
        }
        let model = (self.open)(name)?;
        models.insert(name.to_owned(), Arc::clone(&model));
        Ok(model)
    }

    pub(crate) fn tell(&self, frame: &Frame, what: What<'_>) {
        let depth = frame.chain.len().saturating_sub(1);
        self.watcher.see(&Event { run: frame.run, worker: frame.name(), depth, what });
    }

    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Returns the tools that a worker has.
    pub(crate) fn tools(&self, frame: &Frame) -> Vec<ToolSpec> {
        let table = tools::available(&frame.sandbox).map(|tool| ToolSpec {
            name: tool.name.to_owned(),
            description: tool.description.to_owned(),
            schema: tool.schema(),
        });
        let mut tools: Vec<ToolSpec> = table.collect();
        if frame.worker.file.calls != Callees::None && frame.sandbox.grant().has_tool("call_worker")
        {
            tools.extend(delegate::tools(self, frame));
        }
        tools
    }

    /// Goes on with a conversation until it ends.
    pub(crate) fn converse(
        &self,
        frame: &Frame,
        progress: &mut Progress,
        mut transcript: Option<&mut Transcript>,
    ) -> Result<Outcome, WorkError> {
        let mut told_taint = frame.sandbox.tainted().is_some();
        let mut unfit = 0;
        let mut asked = 0;
        loop {
            if let Some(ended) = self.must_end(frame, asked) {
                return Ok(outcome(frame, progress, ended, why(frame, ended), None));
            }
            asked += 1;
            progress.turns += 1;
            let reply = match self.ask(frame, progress) {
                Ok(reply) => reply,
                Err(error) => {
                    let ended = match error {
                        ModelError::Stopped => Ended::Stopped,
                        ModelError::TimedOut { .. } if frame.budget.is_late() => Ended::Time,
                        _ => Ended::Failed,
                    };
                    let text = match ended {
                        Ended::Failed => error.to_string(),
                        ended => why(frame, ended),
                    };
                    return Ok(outcome(frame, progress, ended, text, None));
                }
            };
            let Reply { text, calls, end, raw, .. } = reply;
            let before = progress.messages.len();
            progress.messages.push(Message::Model {
                text: text.clone(),
                calls: calls.clone(),
                raw,
            });
            let mut answer = None;
            if calls.is_empty() {
                match conclude(frame, &text, end, &mut unfit) {
                    Conclusion::Answer(value) => {
                        answer = Some(outcome(frame, progress, Ended::Answer, text, value));
                    }
                    Conclusion::Failed(why) => {
                        answer = Some(outcome(frame, progress, Ended::Failed, why, None));
                    }
                    Conclusion::Again(text) => {
                        progress.messages.push(Message::User { text, files: Vec::new() });
                    }
                }
            } else {
                let (results, below) = calls::run(self, frame, &calls);
                progress.usage += below;
                progress.messages.push(Message::Results { results });
            }
            if let Some(by) = frame.sandbox.tainted() {
                progress.tainted = Some(by.to_owned());
                if !std::mem::replace(&mut told_taint, true) {
                    self.tell(frame, What::Tainted { by });
                }
            }
            // A turn that was stopped in the middle is not completed.
            if let Some(transcript) = transcript.as_deref_mut()
                && (answer.is_some() || !self.stop.is_said())
            {
                let (new, now) = (progress.messages[before..].to_vec(), &*progress);
                transcript.more(&new, now).map_err(|source| WorkError::Unkept { source })?;
            }
            if let Some(mut answer) = answer {
                answer.usage = progress.usage;
                return Ok(answer);
            }
        }
    }

    /// Returns why a run cannot go on.
    fn must_end(&self, frame: &Frame, asked: u64) -> Option<Ended> {
        if self.stop.is_said() {
            Some(Ended::Stopped)
        } else if frame.budget.is_late() {
            Some(Ended::Time)
        } else if frame.budget.left() == Some(0) {
            Some(Ended::Budget)
        } else if asked >= frame.max_turns {
            Some(Ended::MaxTurns)
        } else {
            None
        }
    }

    fn ask(&self, frame: &Frame, progress: &mut Progress) -> Result<Reply, ModelError> {
        self.tell(frame, What::Turn { turn: progress.turns });
        let tools = self.tools(frame);
        let run = &frame.worker.file.run;
        let system = system(&frame.worker);
        let kept = context::fit(&progress.messages, run.max_context_tokens);
        let request = Request {
            worker: frame.name(),
            system: &system,
            messages: &kept,
            tools: &tools,
            max_tokens: [run.max_tokens, frame.budget.left()].into_iter().flatten().min(),
            temperature: run.temperature,
            deadline: frame.budget.deadline(),
        };
        let begun = Instant::now();
        let reply = frame.model.respond(
            &request,
            &mut |delta| match delta {
                Delta::Text(text) => self.tell(frame, What::Text { text }),
                Delta::Retrying { attempt, wait, why } => {
                    let wait_ms = wait.as_millis() as u64;
                    self.tell(frame, What::Retrying { attempt, wait_ms, why });
                }
                Delta::Call(_) => {}
            },
            &self.stop,
        );
        self.tally.asked(begun.elapsed());
        let mut reply = reply?;
        if reply.usage.total() == 0 {
            // A server that does not count is no reason to go on without end.
            reply.usage = context::estimate(&request, &reply);
        }
        frame.budget.spend(reply.usage);
        progress.usage += reply.usage;
        self.tally.spent(frame.model.name(), reply.usage);
        self.tell(frame, What::Said { text: &reply.text, usage: reply.usage });
        Ok(reply)
    }
}

impl std::fmt::Debug for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frame").field("run", &self.run).field("chain", &self.chain).finish()
    }
}

pub(crate) fn started(
    runner: &Runner,
    frame: &Frame,
    input: &str,
    attachments: &[String],
    resumes: Option<&str>,
) {
    let tools = runner.tools(frame);
    runner.tell(
        frame,
        What::Started {
            session: runner.session.id(),
            model: frame.model.name(),
            tools: tools.iter().map(|tool| tool.name.as_str()).collect(),
            input,
            attachments: attachments.iter().map(String::as_str).collect(),
            resumes,
        },
    );
}

pub(crate) fn ended(runner: &Runner, frame: &Frame, outcome: &Outcome) {
    let Outcome { ended, output, turns, usage, .. } = outcome;
    runner.tell(frame, What::Ended { ended: *ended, output, turns: *turns, usage: *usage });
}

/// Returns what the record says of a run's end.
pub(crate) fn work_end(outcome: &Outcome, calls: u64) -> WorkRecord {
    WorkRecord {
        turns: outcome.turns,
        calls,
        input_tokens: outcome.usage.input,
        output_tokens: outcome.usage.output,
        ended: Some(outcome.ended.as_str().to_owned()),
        ..WorkRecord::default()
    }
}

fn outcome(
    frame: &Frame,
    progress: &Progress,
    ended: Ended,
    output: String,
    value: Option<Value>,
) -> Outcome {
    Outcome {
        ended,
        output,
        value,
        turns: progress.turns,
        usage: progress.usage,
        tainted: frame.sandbox.tainted().map(str::to_owned),
    }
}

/// Says why a run ended that has no answer.
fn why(frame: &Frame, ended: Ended) -> String {
    match ended {
        Ended::Answer | Ended::Failed => String::new(),
        Ended::MaxTurns => format!("no answer after {} turns", frame.max_turns),
        Ended::Budget => "no answer before all tokens were used".to_owned(),
        Ended::Time => "no answer before the time was over".to_owned(),
        Ended::Stopped => "stopped".to_owned(),
    }
}

/// What a reply without calls comes to.
enum Conclusion {
    Answer(Option<Value>),
    Failed(String),
    /// It is sent back with this.
    Again(String),
}

fn conclude(frame: &Frame, text: &str, end: End, unfit: &mut u32) -> Conclusion {
    match end {
        End::Complete => {}
        End::Length => return Conclusion::Failed("the answer was cut: it is too long".to_owned()),
        End::Withheld => {
            return Conclusion::Failed("the model's provider withheld the answer".to_owned());
        }
    }
    let Some(schema) = &frame.worker.schema else { return Conclusion::Answer(None) };
    match schema.check(text) {
        Ok(value) => Conclusion::Answer(Some(value)),
        Err(why) if *unfit < frame.worker.file.run.output_retries => {
            *unfit += 1;
            Conclusion::Again(format!(
                "This answer does not fit the schema:\n{why}\nAnswer again, with JSON that fits \
                 and nothing else."
            ))
        }
        Err(why) => Conclusion::Failed(format!("the answer does not fit the schema: {why}")),
    }
}

fn system(worker: &Worker) -> String {
    match &worker.file.run.output_schema {
        None => worker.instructions.clone(),
        Some(schema) => format!(
            "{}\n\nYour last message must be one JSON value that fits this JSON Schema, and \
             nothing else:\n{}",
            worker.instructions, schema.value
        ),
    }
}
