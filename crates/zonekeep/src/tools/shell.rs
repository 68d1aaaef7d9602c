//! `shell`: a command, confined to what the agent may use.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::schema::{self, Shape};
use super::{Hints, Output, Tool, arguments};
use crate::command::{JobState, Outcome, Ran, ShellCall};
use crate::error::Error;
use crate::sandbox::Sandbox;

const RUNS: Hints =
    Hints { read_only: false, destructive: true, idempotent: false, open_world: true };

pub(super) const TOOL: Tool = Tool {
    name: "shell",
    title: "Run command",
    description: "Run a command and return what it printed and its exit status. It sees the same \
                  directories as the file tools and starts in the working directory. Some commands \
                  need the user's approval and some are never run; the answer says which. With \
                  `background` it goes on while you do something else: shell_job reads its output \
                  and stops it.",
    hints: RUNS,
    schema: || {
        schema::object(
            &[
                ("command", schema::text("The command line")),
                (
                    "cwd",
                    schema::text("The directory to start in; the working directory if left out"),
                ),
                ("timeout", schema::number(1, "Seconds after which it is ended; 30 if left out")),
                ("background", schema::flag("Return at once, and let it go on")),
                (
                    "allowedDomains",
                    schema::list(
                        schema::text("A host, such as example.org or *.example.org:8443"),
                        "Hosts that it may reach, out of the allowed ones; all of them if this \
                         and packageManagers are left out",
                    ),
                ),
                (
                    "packageManagers",
                    schema::list(
                        schema::text("A preset, such as python or node"),
                        "Package managers whose hosts it may reach, out of the allowed ones",
                    ),
                ),
            ],
            &["command"],
        )
    },
    output: || {
        let mut properties = ended().to_vec();
        properties.push(("job", schema::number(1, "Its number, if it went to the background")));
        schema::shapes(
            &properties,
            &[],
            &[
                Shape { told_by: None, has: &ended().map(|(name, _)| name) },
                Shape { told_by: None, has: &["job"] },
            ],
        )
    },
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(alias = "cmd")]
    command: String,
    cwd: Option<String>,
    timeout: Option<u64>,
    background: Option<bool>,
    #[serde(rename = "allowedDomains", alias = "allowed_domains")]
    hosts: Option<Vec<String>>,
    #[serde(rename = "packageManagers", alias = "package_managers")]
    managers: Option<Vec<String>>,
}

fn run(sandbox: &Sandbox, value: Value) -> Result<Output, Error> {
    let args: Arguments = arguments(&TOOL, value)?;
    let call = ShellCall {
        command: args.command,
        cwd: args.cwd,
        timeout: args.timeout.map(|seconds| Duration::from_secs(seconds.max(1))),
        background: args.background.unwrap_or(false),
        hosts: args.hosts,
        managers: args.managers,
    };
    Ok(match sandbox.shell(&call)? {
        Ran::Ended(outcome) => Output::new(text(&outcome), describe(&outcome)),
        Ran::Background(job) => Output::new(
            format!("Started as job {job}. Read its output or stop it with shell_job."),
            json!({ "job": job }),
        ),
    })
}

/// Writes out what a command came to, for a model.
pub(super) fn text(outcome: &Outcome) -> String {
    let mut text = outcome.stdout.clone();
    if !outcome.stderr.is_empty() {
        end_line(&mut text);
        text.push_str("[stderr]\n");
        text.push_str(&outcome.stderr);
    }
    end_line(&mut text);
    let seconds = outcome.duration_ms as f64 / 1000.0;
    match (outcome.exit_code, outcome.signal) {
        _ if outcome.timed_out => {
            text.push_str(&format!("[ended after {seconds:.1} seconds: it took too long]"));
        }
        (Some(code), _) => text.push_str(&format!("[exit status {code}]")),
        (None, Some(signal)) => text.push_str(&format!("[ended by signal {signal}]")),
        (None, None) => text.push_str("[ended]"),
    }
    for note in &outcome.notes {
        text.push('\n');
        text.push_str(note);
    }
    text
}

/// The schemas of what [`describe`] returns.
pub(super) fn ended() -> [(&'static str, Value); 12] {
    let note = json!({ "type": "string" });
    let number = |description| json!({ "type": "integer", "description": description });
    [
        ("stdout", schema::text("What it printed; the beginning and the end of a long text")),
        ("stderr", schema::text("What it said beside that")),
        ("exit_code", schema::or_null(number("Its exit status, unless a signal ended it"))),
        ("signal", schema::or_null(number("The signal that ended it"))),
        ("failed", schema::truth("Whether it did not end with status 0")),
        ("timed_out", schema::truth("Whether it was ended because it took too long")),
        ("truncated", schema::truth("Whether part of what it printed was left out")),
        ("cwd", schema::text("Where it ran")),
        ("duration_ms", schema::number(0, "How long it ran, in milliseconds")),
        ("network", schema::truth("Whether it could reach anything")),
        ("held", schema::truth("Whether it was held back at a boundary")),
        ("notes", schema::list(note, "What is worth knowing about it, a sentence each")),
    ]
}

/// Returns what a command came to, for programs.
pub(super) fn describe(outcome: &Outcome) -> Value {
    json!({
        "stdout": outcome.stdout,
        "stderr": outcome.stderr,
        "exit_code": outcome.exit_code,
        "signal": outcome.signal,
        "failed": outcome.failed,
        "timed_out": outcome.timed_out,
        "truncated": outcome.truncated,
        "cwd": outcome.cwd,
        "duration_ms": outcome.duration_ms,
        "network": outcome.network,
        "held": outcome.held,
        "notes": outcome.notes,
    })
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// Writes out where a background command stands.
pub(super) fn state_words(state: &JobState) -> String {
    match state {
        JobState::Running => "running".to_owned(),
        JobState::Ended(outcome) => match (outcome.exit_code, outcome.signal) {
            (Some(code), _) => format!("ended with status {code}"),
            (None, Some(signal)) => format!("ended by signal {signal}"),
            (None, None) => "ended".to_owned(),
        },
        JobState::Lost(_) => "lost".to_owned(),
    }
}
