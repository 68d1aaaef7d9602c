//! The tool calls of one turn.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::{Value, json};
use zonekeep::policy::policy::Network;
use zonekeep::policy::tool_name;
use zonekeep::tools::{self, Output};
use zonekeep::{Error, Remedy, Sandbox};

use crate::delegate;
use crate::event::{Layer, What};
use crate::model::{Call, CallResult, File, Usage};
use crate::run::{Frame, Runner};

/// How many tools can be called in one turn.
const MAX_CALLS: usize = 32;
/// How many workers are at work at the same time for one caller, and in all.
const MAX_AT_ONCE: usize = 8;
const MAX_THREADS: usize = 32;
/// The stack of one of them: each level of calls takes a part.
const STACK: usize = 8 << 20;
/// The longest text that a model gets back, in characters.
const MAX_TEXT: usize = 200_000;

/// What a call came to.
pub(crate) struct Done {
    pub(crate) text: String,
    pub(crate) image: Option<File>,
    pub(crate) is_error: bool,
    pub(crate) refused_by: Option<Layer>,
    pub(crate) code: Option<String>,
    /// What the user should know about a failure, and the model does not read.
    pub(crate) detail: Option<String>,
    pub(crate) remedy: Option<Remedy>,
    /// What workers used for it.
    pub(crate) usage: Usage,
    /// Whether a command ran for it, and could reach something.
    pub(crate) command: Option<bool>,
}

impl Done {
    pub(crate) fn ok(text: impl Into<String>) -> Self {
        Done {
            text: text.into(),
            image: None,
            is_error: false,
            refused_by: None,
            code: None,
            detail: None,
            remedy: None,
            usage: Usage::default(),
            command: None,
        }
    }

    pub(crate) fn error(code: &str, text: impl Into<String>) -> Self {
        Done { is_error: true, code: Some(code.to_owned()), ..Done::ok(text) }
    }

    /// Returns what a refusal or failure comes to.
    pub(crate) fn of_error(error: &Error) -> Self {
        let mut done = Done::error(error.code(), error.to_string());
        done.detail = error.detail().map(str::to_owned);
        done.remedy = error.remedy();
        done.refused_by = match error {
            Error::Denied(denial) if denial.code() == "declined" => Some(Layer::Approval),
            Error::Denied(_) => Some(Layer::Policy),
            Error::Failed(failure) => {
                matches!(failure.fault.code(), "link" | "outside" | "read_only")
                    .then_some(Layer::Kernel)
            }
            _ => None,
        };
        done
    }

    fn of_output(output: Output, may_reach: bool) -> Self {
        let Output { text, value, image } = output;
        let mut done = Done::ok(text);
        done.image = image.map(|image| File {
            name: value["path"].as_str().unwrap_or("image").to_owned(),
            mime: image.mime.to_owned(),
            bytes: image.bytes,
        });
        if value["exit_code"].is_number() || value["signal"].is_number() {
            done.command = Some(value["network"] == json!(true));
            done.refused_by = (value["held"] == json!(true)).then_some(Layer::Kernel);
            done.code = match (&value["exit_code"], value["failed"] == json!(true)) {
                _ if done.refused_by.is_some() => Some("held".to_owned()),
                (_, false) => None,
                (Value::Number(code), true) => Some(format!("exit_{code}")),
                (_, true) => Some("ended".to_owned()),
            };
        } else if value["job"].is_number() && value["line"].is_null() {
            // It has only begun: what it could reach is what the rules allow.
            done.command = Some(may_reach);
        }
        done
    }
}

/// Calls the tools of one turn: in order, but workers that are called one right
/// after the other work at the same time. Returns what each came to, and what
/// the workers used.
pub(crate) fn run(runner: &Runner, frame: &Frame, calls: &[Call]) -> (Vec<CallResult>, Usage) {
    let mut done: Vec<Done> = Vec::new();
    let (run, left) = calls.split_at(calls.len().min(MAX_CALLS));
    let mut rest = run;
    while let Some(first) = rest.first() {
        let workers = rest.iter().take(MAX_AT_ONCE);
        let workers = workers.take_while(|call| delegate::is_call(runner, frame, call)).count();
        let (now, later) = rest.split_at(workers.max(1));
        match now {
            [_, _, ..] => done.extend(at_once(runner, frame, now)),
            _ => done.push(one(runner, frame, first)),
        }
        rest = later;
    }
    let too_many = format!(
        "Not done: at most {MAX_CALLS} tools can be called at once. Call it again on its own."
    );
    done.extend(left.iter().map(|_| Done::error("too_many", too_many.clone())));
    let mut usage = Usage::default();
    let results = calls.iter().zip(done).map(|(call, done)| {
        usage += done.usage;
        CallResult {
            id: call.id.clone(),
            name: call.name.clone(),
            text: done.text,
            is_error: done.is_error,
            image: done.image,
        }
    });
    let results = results.collect();
    (results, usage)
}

/// Makes calls at the same time, as far as there is room for more threads; the
/// others are made one after another.
fn at_once(runner: &Runner, frame: &Frame, calls: &[Call]) -> Vec<Done> {
    let lost = || Done::error("failed", "The call was lost.");
    std::thread::scope(|scope| {
        let begun: Vec<_> = calls
            .iter()
            .map(|call| {
                let place = runner.places.take()?;
                let thread = std::thread::Builder::new().stack_size(STACK);
                let work = move || {
                    let _place = place;
                    one(runner, frame, call)
                };
                thread.spawn_scoped(scope, work).ok()
            })
            .collect();
        let ended = begun.into_iter().zip(calls).map(|(thread, call)| match thread {
            Some(thread) => thread.join().unwrap_or_else(|_| lost()),
            None => one(runner, frame, call),
        });
        ended.collect()
    })
}

/// Room for so many workers at the same time, whoever calls them.
#[derive(Debug)]
pub(crate) struct Places(AtomicUsize);

/// Room for one.
struct Taken<'p>(&'p Places);

impl Default for Places {
    fn default() -> Self {
        Places(AtomicUsize::new(MAX_THREADS))
    }
}

impl Places {
    fn take(&self) -> Option<Taken<'_>> {
        let less = |left: usize| left.checked_sub(1);
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).ok().map(|_| Taken(self))
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn one(runner: &Runner, frame: &Frame, call: &Call) -> Done {
    let begun = Instant::now();
    runner.tell(frame, What::Call { id: &call.id, tool: &call.name, arguments: &call.arguments });
    let mut done = match runner.stop().is_said() {
        true => Done::error("stopped", "Not done: the user stopped the run."),
        false if delegate::is_call(runner, frame, call) => delegate::call(runner, frame, call),
        false => tool(runner, frame, call),
    };
    cut(&mut done.text);
    let took = begun.elapsed();
    runner.tally.called(frame.run, &done, took);
    runner.tell(
        frame,
        What::Result {
            id: &call.id,
            tool: &call.name,
            text: &done.text,
            refused_by: done.refused_by,
            code: done.code.as_deref(),
            detail: done.detail.as_deref(),
            remedy: done.remedy,
            duration_us: took.as_micros() as u64,
        },
    );
    done
}

fn tool(runner: &Runner, frame: &Frame, call: &Call) -> Done {
    let sandbox = &frame.sandbox;
    let known = tool_name::canonical(&call.name).filter(|name| *name != "call_worker");
    if known.is_none() {
        let available = runner.tools(frame).into_iter().map(|tool| tool.name).collect();
        return Done::of_error(&tools::unknown(sandbox, &call.name, available));
    }
    let arguments = match &call.malformed {
        Some(_) => Value::Null,
        None => call.arguments.clone(),
    };
    match tools::call(sandbox, &call.name, arguments) {
        Ok(output) => Done::of_output(output, may_reach(runner, frame)),
        Err(error) => {
            let mut done = Done::of_error(&error);
            if let Some(why) = &call.malformed {
                done.text.push_str(&format!("\nThey could not be read: {why}"));
            }
            done
        }
    }
}

/// Returns whether some command of a worker may reach something.
fn may_reach(runner: &Runner, frame: &Frame) -> bool {
    let rules = &runner.session.policy().shell.rules;
    frame.sandbox.grant().network().value != Network::Off
        || rules.iter().any(|rule| rule.grants != Network::Off)
}

fn cut(text: &mut String) {
    if let Some((at, _)) = text.char_indices().nth(MAX_TEXT) {
        text.truncate(at);
        text.push_str("\n[The rest is left out.]");
    }
}

/// Returns the sandbox's word for what a malformed call was.
pub(crate) fn bad_arguments(sandbox: &Sandbox, reason: String) -> Done {
    Done::of_error(&tools::misused(sandbox, "call_worker", reason))
}
