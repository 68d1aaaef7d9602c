//! `shell_job`: commands that go on in the background.

use serde::Deserialize;
use serde_json::{Value, json};

use super::schema::{self, Shape};
use super::shell::{describe, ended, state_words, text};
use super::{Hints, Output, Tool, arguments};
use crate::command::{Job, JobState};
use crate::error::Error;
use crate::sandbox::Sandbox;

/// Signals by the names that people use.
const SIGNALS: &[(&str, i32)] =
    &[("HUP", 1), ("INT", 2), ("QUIT", 3), ("KILL", 9), ("USR1", 10), ("USR2", 12), ("TERM", 15)];

pub(super) const TOOL: Tool = Tool {
    name: "shell_job",
    title: "Background command",
    description: "Look at or end the commands that shell started in the background. `list` shows \
                  them all, `read` what one has printed so far and whether it has ended, `signal` \
                  sends it a signal, `stop` ends it with all that it started.",
    hints: Hints { read_only: false, destructive: true, idempotent: false, open_world: false },
    schema: || {
        schema::object(
            &[
                ("action", json!({ "type": "string", "enum": ["list", "read", "signal", "stop"] })),
                ("job", schema::number(1, "The job's number; not for list")),
                (
                    "signal",
                    schema::text("The signal's name: HUP, INT, QUIT, KILL, USR1, USR2 or TERM"),
                ),
            ],
            &["action"],
        )
    },
    output: || {
        let mut properties = job().to_vec();
        let all = schema::list(schema::result(&job()), "For list: all of them, the oldest first");
        properties.extend([
            ("jobs", all),
            ("stopped", schema::truth("For stop: whether it still ran")),
            ("sent", schema::truth("For signal: whether it still ran")),
        ]);
        schema::shapes(
            &properties,
            &[],
            &[
                Shape { told_by: None, has: &["jobs"] },
                Shape { told_by: None, has: &job().map(|(name, _)| name) },
                Shape { told_by: None, has: &["job", "stopped"] },
                Shape { told_by: None, has: &["job", "sent"] },
            ],
        )
    },
    run,
};

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    List,
    Read,
    Signal,
    Stop,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    action: Action,
    job: Option<u64>,
    signal: Option<String>,
}

fn run(sandbox: &Sandbox, value: Value) -> Result<Output, Error> {
    if !sandbox.grant().has_tool(TOOL.name) {
        let available = super::available(sandbox).map(|tool| tool.name.to_owned()).collect();
        return Err(sandbox.no_such_tool(TOOL.name, available));
    }
    let args: Arguments = arguments(&TOOL, value)?;
    let bad = |reason: String| Error::BadArguments { tool: TOOL.name.to_owned(), reason };
    let jobs = sandbox.background();
    let known =
        |id: u64| jobs.get(id).ok_or_else(|| bad(format!("there is no job {id}.\nUse list.")));
    let wanted = || args.job.ok_or_else(|| bad("give the job's number.".to_owned()));
    match args.action {
        Action::List => Ok(list(&jobs.list())),
        Action::Read => {
            let job = known(wanted()?)?;
            Ok(Output::new(text_of(&job), value_of(&job)))
        }
        Action::Stop => {
            let job = known(wanted()?)?;
            let stopped = jobs.stop(job.id);
            sandbox.note_signal(job.id, "stop", stopped)?;
            let text = match stopped {
                true => format!("Job {} is being ended.", job.id),
                false => format!("Job {} has ended before.", job.id),
            };
            Ok(Output::new(text, json!({ "job": job.id, "stopped": stopped })))
        }
        Action::Signal => {
            let name = args.signal.as_deref().unwrap_or("TERM").trim_start_matches("SIG");
            let names = || SIGNALS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            let found = SIGNALS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            let (name, number) = found
                .ok_or_else(|| bad(format!("there is no such signal.\nSignals: {}", names())))?;
            let job = known(wanted()?)?;
            let sent = jobs.signal(job.id, *number);
            sandbox.note_signal(job.id, name, sent)?;
            let text = match sent {
                true => format!("Sent {name} to job {}.", job.id),
                false => format!("Job {} has ended before.", job.id),
            };
            Ok(Output::new(text, json!({ "job": job.id, "sent": sent })))
        }
    }
}

fn list(jobs: &[Job]) -> Output {
    let line = |job: &Job| format!("{}: {} ({})", job.id, job.line, state_words(&job.state));
    let text = match jobs.is_empty() {
        true => "There are no jobs.".to_owned(),
        false => jobs.iter().map(line).collect::<Vec<_>>().join("\n"),
    };
    Output::new(text, json!({ "jobs": jobs.iter().map(value_of).collect::<Vec<_>>() }))
}

fn text_of(job: &Job) -> String {
    match &job.state {
        JobState::Ended(outcome) => text(outcome),
        state => {
            let mut text = job.stdout.clone();
            if !job.stderr.is_empty() {
                text.push_str("\n[stderr]\n");
                text.push_str(&job.stderr);
            }
            let why = match state {
                JobState::Lost(why) => format!(": {why}"),
                _ => String::new(),
            };
            format!("{}\n[{}{why}]", text.trim_end_matches('\n'), state_words(state))
        }
    }
}

/// The schemas of what [`value_of`] returns.
fn job() -> [(&'static str, Value); 6] {
    [
        ("job", schema::number(1, "Its number")),
        ("command", schema::text("The command line")),
        ("state", schema::choice(&["running", "ended", "lost"], "Where it stands")),
        ("stdout", schema::text("What it has printed so far")),
        ("stderr", schema::text("What it has said beside that")),
        ("outcome", schema::or_null(schema::result(&ended()))),
    ]
}

fn value_of(job: &Job) -> Value {
    let outcome = match &job.state {
        JobState::Ended(outcome) => Some(describe(outcome)),
        _ => None,
    };
    json!({
        "job": job.id,
        "command": job.line,
        "state": match &job.state {
            JobState::Running => "running",
            JobState::Ended(_) => "ended",
            JobState::Lost(_) => "lost",
        },
        "stdout": job.stdout,
        "stderr": job.stderr,
        "outcome": outcome,
    })
}
