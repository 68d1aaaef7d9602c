//! Workers that call workers.
//!
//! A worker that is called gets what its own file asks for, and never more than
//! its caller has; it takes its input and files as bytes, and gives back a text.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use zonekeep::audit::WorkRecord;
use zonekeep::work::WorkerCall;

use crate::attach;
use crate::budget::Budget;
use crate::calls::{self, Done};
use crate::model::{Call, Message, ToolSpec};
use crate::run::{self, Ended, Frame, Runner, WorkError};
use crate::transcript::Progress;

/// The tool.
const CALL: &str = "call_worker";
/// The most workers that a tool's description names.
const MAX_NAMED: usize = 50;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    worker: Option<String>,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    attachments: Vec<String>,
}

/// Returns the tools by which a worker calls those that it may call.
pub(crate) fn tools(runner: &Runner, frame: &Frame) -> Vec<ToolSpec> {
    let mut tools = vec![ToolSpec {
        name: CALL.to_owned(),
        description: describe(runner, frame),
        schema: schema(true),
    }];
    if frame.worker.file.workers_as_tools {
        for name in callees(runner, frame) {
            let Some(tool) = own_tool(runner, frame, &name) else { continue };
            let described = runner.registry.file(&name).and_then(|file| file.description.clone());
            tools.push(ToolSpec {
                name: tool,
                description: described.unwrap_or_else(|| format!("Calls the worker '{name}'.")),
                schema: schema(false),
            });
        }
    }
    tools
}

fn describe(runner: &Runner, frame: &Frame) -> String {
    let mut text = "Give a task to another worker and return its answer. It knows nothing but \
                    the input and the files that you attach. Workers:"
        .to_owned();
    for name in callees(runner, frame).into_iter().take(MAX_NAMED) {
        let described = runner.registry.file(&name).and_then(|file| file.description.as_deref());
        let described = described.unwrap_or("").lines().next().unwrap_or_default();
        text.push_str(&format!("\n- {name}: {described}"));
    }
    text
}

fn schema(with_worker: bool) -> Value {
    let mut properties = json!({
        "input": { "type": "string", "description": "What the worker is to work on" },
        "attachments": {
            "type": "array",
            "items": { "type": "string" },
            "description": "Paths of files that it gets to see",
        },
    });
    let mut required = vec!["input"];
    if with_worker {
        properties["worker"] = json!({ "type": "string", "description": "The worker's name" });
        required.insert(0, "worker");
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Returns the workers that a worker may call and that there are.
fn callees(runner: &Runner, frame: &Frame) -> Vec<String> {
    let running = |name: &&str| frame.chain.iter().any(|above| above == name);
    let others = runner.registry.names().filter(|name| !running(name)).map(str::to_owned);
    frame.worker.file.calls.among(&others.collect::<Vec<_>>())
}

/// Returns the name of the tool that stands for a worker; `None` where a model
/// could not call it so.
fn tool_name(worker: &str) -> Option<String> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = worker.chars().map(plain).collect();
    let is_taken = zonekeep::policy::tool_name::canonical(&name).is_some();
    (name.len() <= 64 && !is_taken).then_some(name)
}

/// Returns whether a call is for a worker.
pub(crate) fn is_call(runner: &Runner, frame: &Frame, call: &Call) -> bool {
    zonekeep::policy::tool_name::canonical(&call.name) == Some(CALL)
        || named(runner, frame, &call.name).is_some()
}

/// Returns the worker that a tool's name stands for.
fn named(runner: &Runner, frame: &Frame, tool: &str) -> Option<String> {
    if !frame.worker.file.workers_as_tools {
        return None;
    }
    let callees = callees(runner, frame).into_iter();
    callees.into_iter().find(|name| own_tool(runner, frame, name).as_deref() == Some(tool))
}

/// Returns the name of the tool that stands for a worker and for no other one.
fn own_tool(runner: &Runner, frame: &Frame, worker: &str) -> Option<String> {
    let tool = tool_name(worker)?;
    let same = |other: &String| tool_name(other).as_deref() == Some(tool.as_str());
    (callees(runner, frame).iter().filter(|other| same(other)).count() == 1).then_some(tool)
}

/// Calls a worker, and waits for its answer.
pub(crate) fn call(runner: &Runner, frame: &Frame, call: &Call) -> Done {
    let sandbox = &frame.sandbox;
    if let Some(why) = &call.malformed {
        return calls::bad_arguments(sandbox, format!("the arguments could not be read: {why}."));
    }
    let arguments: Arguments = match serde_json::from_value(call.arguments.clone()) {
        Ok(arguments) => arguments,
        Err(error) => {
            let reason = format!("{error}.\nArguments: worker, input, attachments");
            return calls::bad_arguments(sandbox, reason);
        }
    };
    let named = named(runner, frame, &call.name);
    if named.is_some() && arguments.worker.is_some() {
        let reason = "unknown field `worker`.\nArguments: input, attachments".to_owned();
        return calls::bad_arguments(sandbox, reason);
    }
    let Some(worker) = named.or(arguments.worker) else {
        let reason = "missing field `worker`.\nArguments: worker, input, attachments".to_owned();
        return calls::bad_arguments(sandbox, reason);
    };
    let input = match arguments.input {
        Value::String(text) => text,
        Value::Null => String::new(),
        // A model that hands on structured data means its text.
        value => value.to_string(),
    };
    let workers: Vec<String> = runner.registry.names().map(str::to_owned).collect();
    let wanted = WorkerCall {
        worker: &worker,
        callees: &frame.worker.file.calls,
        workers: &workers,
        chain: &frame.chain,
        input: &input,
        attachments: &arguments.attachments,
    };
    let permitted = match sandbox.permit_call(&wanted) {
        Ok(permitted) => permitted,
        Err(error) => return Done::of_error(&error),
    };
    let callee = match runner.registry.get(&worker) {
        Ok(callee) => callee,
        Err(error) => {
            permitted.fail("unusable", &error.to_string());
            let text = format!("Cannot call '{worker}': its file cannot be used.\nTell the user.");
            return Done::error("unusable", text);
        }
    };
    let files = attach::gather(sandbox, &arguments.attachments, &callee.file.attachments);
    let files = match files {
        Ok(files) => files,
        Err(error) => {
            permitted.fail(error.code(), &error.to_string());
            return match &error {
                attach::AttachError::Unreadable(error) => Done::of_error(error),
                error => Done {
                    refused_by: Some(crate::event::Layer::Policy),
                    ..Done::error(error.code(), error.to_string())
                },
            };
        }
    };
    if input.trim().is_empty() && files.is_empty() && !callee.file.run.allow_empty_input {
        permitted.fail("no_input", "it needs an input");
        return Done::error("no_input", format!("Cannot call '{worker}': it needs an input."));
    }
    let limits = callee.file.run.limits(&runner.session.policy().run);
    let time = limits.time_ms.map(Duration::from_millis);
    let budget = Budget::new(limits.budget, time, Some(&frame.budget));
    let chain: Vec<String> = frame.chain.iter().cloned().chain([worker.clone()]).collect();
    let names = files.iter().map(|file| file.name.clone()).collect();
    let work = WorkRecord {
        worker: worker.clone(),
        chain: chain.clone(),
        attachments: names,
        ..WorkRecord::default()
    };
    let (child, begun) = match permitted.begin(&callee.file.needs, work) {
        Ok(begun) => begun,
        Err(error) => return Done::of_error(&error),
    };
    attach::taint(&child, sandbox, &arguments.attachments);
    let below = runner.frame(callee, child, chain, budget, Some(frame.model.name()));
    let below = match below {
        Ok(below) => below,
        Err(error) => {
            let _ = begun.fail(&error.to_string());
            let text = format!("Cannot call '{worker}': it could not be started.\nTell the user.");
            return Done::error("unusable", text);
        }
    };
    run::started(runner, &below, &input, begun.attachments(), None);
    let mut progress =
        Progress { messages: vec![Message::User { text: input, files }], ..Progress::default() };
    let outcome = runner.converse(&below, &mut progress, None);
    below.sandbox.background().stop_all();
    // What it says may be what it was told to say.
    if let Some(by) = below.sandbox.tainted() {
        sandbox.taint(&format!("the worker '{worker}' ({by})"));
    }
    let calls = runner.tally.calls_of(below.run);
    match outcome {
        Ok(outcome) => {
            run::ended(runner, &below, &outcome);
            let recorded = begun.end(run::work_end(&outcome, calls));
            let mut done = match outcome.ended {
                _ if recorded.is_err() => Done::error(
                    "audit",
                    "The worker has ended, but the audit log could not be completed.\nTell the \
                     user before you go on.",
                ),
                Ended::Answer => Done::ok(outcome.output),
                ended => Done::error(
                    ended.as_str(),
                    format!("The worker '{worker}' did not finish: {}.", outcome.output),
                ),
            };
            done.usage = outcome.usage;
            done
        }
        Err(error) => {
            let _ = begun.fail(&error.to_string());
            let text = format!("The worker '{worker}' did not finish: {}.", said(&error));
            Done { usage: progress.usage, ..Done::error("failed", text) }
        }
    }
}

/// Returns what the model may know of an error.
fn said(error: &WorkError) -> String {
    match error {
        WorkError::Unkept { .. } | WorkError::Unrecorded { .. } => {
            "what it does cannot be written down".to_owned()
        }
        error => error.to_string(),
    }
}
