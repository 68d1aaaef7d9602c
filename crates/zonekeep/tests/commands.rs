//! Commands as an embedding program sees them: what they print while they run, and
//! that their results are as the schemas say; and that what is written between them, by
//! the user or with a yes, is left alone.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod common;
mod schemas;

use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread;

use common::{needs, open};
use schemas::Checked;
use serde_json::{Value, json};
use zonekeep::approve::{Answer, Callback, Request};
use zonekeep::command::{Command, JobState, Ran, ShellCall};
use zonekeep::{Sandbox, Session};
use zonekeep_testkit::{PATIENCE, Project as Files, eventually};

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    repo: { path: ./repo, mode: rw }
";

const TESTS: &[(&str, fn())] = &[
    ("what_a_command_prints_is_heard_while_it_runs", what_a_command_prints_is_heard_while_it_runs),
    ("all_is_heard_even_what_is_not_kept", all_is_heard_even_what_is_not_kept),
    ("others_are_not_heard", others_are_not_heard),
    ("results_of_shell_are_as_its_schema_says", results_of_shell_are_as_its_schema_says),
    ("results_of_shell_job_are_as_its_schema_says", results_of_shell_job_are_as_its_schema_says),
    ("what_is_written_between_commands_stays", what_is_written_between_commands_stays),
    ("what_is_written_while_a_command_runs_does_not_stay", written_while_a_command_runs),
    ("each_session_knows_of_the_others_commands", each_session_knows_of_the_others_commands),
];

fn main() {
    common::run_all(TESTS);
}

/// Opens a project in which every command is approved.
fn scene() -> (Files, Session) {
    let files = Files::with_config("", CONFIG).file("repo/a.txt", "a\n");
    let session = open(&files, Callback(|_: &Request| Answer::yes()));
    (files, session)
}

/// Returns the sandbox, and what is heard of its commands.
fn heard(sandbox: &Sandbox) -> (Sandbox, Receiver<Vec<u8>>) {
    let (tell, told) = mpsc::channel();
    let tell = Mutex::new(tell);
    let hear = move |bytes: &[u8]| tell.lock().unwrap().send(bytes.to_vec()).unwrap();
    (sandbox.heard_by(Arc::new(hear)), told)
}

fn shell(sandbox: &Sandbox, line: &str) -> Ran {
    let timeout = Some(PATIENCE);
    sandbox.shell(&ShellCall { timeout, ..ShellCall::new(line) }).unwrap()
}

fn what_a_command_prints_is_heard_while_it_runs() {
    let (files, session) = scene();
    let (sandbox, told) = heard(&session.sandbox());
    // It goes on only once its first words were heard.
    let line = "echo first; while [ ! -e /repo/go ]; do sleep 0.05; done; echo second >&2";
    let running = thread::spawn(move || shell(&sandbox, line));
    assert_eq!(told.recv_timeout(PATIENCE).unwrap(), b"first\n");
    assert!(!running.is_finished());
    files.put("repo/go", "");
    assert_eq!(told.recv_timeout(PATIENCE).unwrap(), b"second\n");
    let Ran::Ended(outcome) = running.join().unwrap() else { panic!("it has ended") };
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("first\n", "second\n"));
    // Whoever heard has gone with the sandbox.
    assert_eq!(told.recv_timeout(PATIENCE).ok(), None);
}

fn all_is_heard_even_what_is_not_kept() {
    let (_files, session) = scene();
    let (sandbox, told) = heard(&session.sandbox());
    let outcome = sandbox.run(&Command::new(["sh", "-c", "seq 1 40000"])).unwrap();
    drop(sandbox);
    let all: Vec<u8> = told.into_iter().flatten().collect();
    let want: String = (1..=40_000).map(|n| format!("{n}\n")).collect();
    assert!(outcome.truncated && all == want.as_bytes(), "{} bytes", all.len());
}

fn others_are_not_heard() {
    let (_files, session) = scene();
    let (sandbox, told) = heard(&session.sandbox());
    let child = sandbox.narrow(&needs("sandbox: { zones: [{ name: repo, mode: rw }] }")).unwrap();
    assert_eq!(child.run(&Command::new(["echo", "child"])).unwrap().stdout, "child\n");
    let job = sandbox.run_in_background(&Command::new(["echo", "background"])).unwrap();
    let job = sandbox.background().wait(job).unwrap();
    assert!(matches!(job.state, JobState::Ended(_)) && job.stdout == "background\n", "{job:?}");
    session.sandbox().run(&Command::new(["echo", "another"])).unwrap();
    sandbox.run(&Command::new(["echo", "own"])).unwrap();
    drop(sandbox);
    assert_eq!(told.into_iter().flatten().collect::<Vec<u8>>(), b"own\n");
}

fn results_of_shell_are_as_its_schema_says() {
    let (_files, session) = scene();
    let mut checked = Checked::new(session.sandbox(), "shell");
    let cases = [
        // arguments, what is in the result
        (json!({ "command": "echo a; echo b >&2; exit 3" }), ("exit_code", json!(3))),
        (json!({ "command": "kill -9 $$" }), ("signal", json!(9))),
        (json!({ "command": "sleep 30", "timeout": 1 }), ("timed_out", json!(true))),
        (json!({ "command": "seq 1 40000" }), ("truncated", json!(true))),
        (json!({ "command": "echo x", "background": true }), ("job", json!(1))),
    ];
    for (arguments, (name, want)) in cases {
        let value = checked.call(arguments.clone());
        assert_eq!(value[name], want, "{arguments}: {value}");
    }
    session.sandbox().background().stop_all();
}

fn results_of_shell_job_are_as_its_schema_says() {
    let (files, session) = scene();
    let sandbox = session.sandbox();
    let mut checked = Checked::new(sandbox.clone(), "shell_job");
    let on_job = |action: &str, job: u64| json!({ "action": action, "job": job });
    assert_eq!(checked.call(json!({ "action": "list" })), json!({ "jobs": [] }));
    let line = "echo so; echo far >&2; while [ ! -e /repo/go ]; do sleep 0.05; done";
    for _ in 0..2 {
        sandbox.run_in_background(&Command::new(["sh", "-c", line])).unwrap();
    }
    let printed = |value: &Value| value["stdout"] == "so\n" && value["stderr"] == "far\n";
    let running = eventually("output", || {
        Some(checked.call(on_job("read", 1))).filter(|value| printed(value))
    });
    assert_eq!((&running["state"], &running["outcome"]), (&json!("running"), &Value::Null));
    let sent = checked.call(json!({ "action": "signal", "job": 1, "signal": "TERM" }));
    assert_eq!(sent, json!({ "job": 1, "sent": true }));
    assert_eq!(checked.call(on_job("stop", 1)), json!({ "job": 1, "stopped": true }));
    sandbox.background().wait(1).unwrap();
    assert_eq!(checked.call(on_job("stop", 1)), json!({ "job": 1, "stopped": false }));
    files.put("repo/go", "");
    sandbox.background().wait(2).unwrap();
    let ended = checked.call(on_job("read", 2));
    assert_eq!((&ended["state"], &ended["outcome"]["exit_code"]), (&json!("ended"), &json!(0)));
    let listed = checked.call(json!({ "action": "list" }));
    assert_eq!(listed["jobs"].as_array().unwrap().len(), 2);
}

fn caught(outcome: &zonekeep::command::Outcome) -> Vec<&String> {
    outcome.caught.iter().map(|file| &file.path).collect()
}

fn what_is_written_between_commands_stays() {
    let (files, session) = scene();
    let sandbox = session.sandbox();
    let run = |line: &str| sandbox.run(&Command::new(["sh", "-c", line])).unwrap();
    for round in 0..20 {
        // A command right after, as fast as it can be.
        let content = format!("{round}\n");
        sandbox.write(&format!("/repo/{round}/.vscode/settings.json"), &content).unwrap();
        files.put(&format!("repo/{round}/.envrc"), "mine");
        let outcome = run(&format!("cat /repo/{round}/.vscode/settings.json"));
        assert_eq!(outcome.stdout, content, "{outcome:?}");
        assert_eq!(caught(&outcome), Vec::<&String>::new());
    }
    let outcome =
        run("cd /repo/1; echo x > .envrc; echo x > .vscode/settings.json; echo x > .mcp.json");
    assert_eq!(caught(&outcome).len(), 3, "{outcome:?}");
    assert_eq!(files.read("repo/1/.envrc"), "mine");
    assert_eq!(files.read("repo/1/.vscode/settings.json"), "1\n");
    assert!(!files.path("repo/1/.mcp.json").exists());
}

fn written_while_a_command_runs() {
    let (files, session) = scene();
    let sandbox = session.sandbox();
    let job = sandbox.run_in_background(&Command::new(["sleep", "1000"])).unwrap();
    // Another command that comes and goes changes nothing about that.
    sandbox.run(&Command::new(["true"])).unwrap();
    files.put("repo/.envrc", "whose?");
    eventually("the file to be taken", || (!files.path("repo/.envrc").exists()).then_some(()));
    assert!(sandbox.background().stop(job));
    sandbox.background().wait(job).unwrap();
    files.put("repo/.envrc", "mine");
    sandbox.run(&Command::new(["true"])).unwrap();
    assert_eq!(files.read("repo/.envrc"), "mine");
}

fn each_session_knows_of_the_others_commands() {
    let (files, session) = scene();
    let other = open(&files, Callback(|_: &Request| Answer::yes()));
    let (sandbox, second) = (session.sandbox(), other.sandbox());
    // Both have a sandbox that stands.
    for sandbox in [&sandbox, &second] {
        sandbox.run(&Command::new(["true"])).unwrap();
    }
    files.put("repo/.envrc", "mine");
    let line = "cd /repo; cat .envrc; echo x > .mcp.json; echo x > .envrc; sleep 0.3";
    let run = |sandbox: &Sandbox| sandbox.run(&Command::new(["sh", "-c", line])).unwrap();
    for sandbox in [&sandbox, &second, &sandbox] {
        assert_eq!(run(sandbox).stdout, "mine");
        assert!(!files.path("repo/.mcp.json").exists());
        assert_eq!(files.read("repo/.envrc"), "mine");
    }
}
