//! `zonekeep replay`: the audit log under another project file.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};
use zonekeep::StateDir;
use zonekeep::audit::log_path;
use zonekeep_testkit::Project;

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const CONFIG: &str = r#"sandbox:
  mode: direct
  working_dir: /output
  zones:
    input: { path: ./in, mode: ro }
    output: { path: ./out, mode: rw, approval: { write: preApproved } }
shell:
  mode: bash
  rules:
    - { pattern: "cargo test", approval: preApproved }
    - { pattern: "rm -rf *", approval: blocked }
  default: ask
"#;

/// Writes are asked about, deletes blocked, other commands run.
const NEW: &str = r#"sandbox:
  mode: direct
  working_dir: /output
  zones:
    input: { path: ./in, mode: rw, approval: { write: ask } }
    output: { path: ./out, mode: rw, max_file_bytes: 100, approval: { write: preApproved, delete: blocked } }
shell:
  mode: bash
  rules:
    - { pattern: "make test", approval: preApproved }
    - { pattern: "curl *", approval: blocked }
  default: ask
"#;

const READER: &str = "---\nname: reader\nsandbox: { zones: [{ name: input, mode: ro }] }\n---\n";

fn project() -> Project {
    Project::with_config(PROGRAM, CONFIG)
        .file("in/a.txt", "hello\n")
        .dir("out")
        .file("reader.worker", READER)
        .file("new.yaml", NEW)
}

/// Writes the log of a project.
fn write_log(project: &Project, records: &[Value]) {
    let dir = project.path("").canonicalize().unwrap();
    let path = log_path(&StateDir::at(project.state().join("zonekeep")), &dir);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let lines = records.iter().map(|record| format!("{record}\n"));
    fs::write(path, lines.collect::<String>()).unwrap();
}

/// Returns a record of a file tool.
fn file(id: &str, tool: &str, action: &str, path: &str, verdict: &str) -> Value {
    let outcome = if verdict == "allow" { "done" } else { "refused" };
    json!({
        "id": id, "time": "2026-01-01T00:00:00Z", "session": "s", "project": "/p", "tool": tool,
        "action": action, "path": path, "verdict": verdict, "outcome": outcome, "duration_us": 5,
    })
}

/// Returns a record of a command line of an agent's.
fn line(id: &str, command: &str, verdict: &str) -> Value {
    let judged = json!({ "mode": "bash", "cwd": "/output", "os_sandbox": true });
    let run = json!({ "command": command, "judged": judged });
    with(file(id, "shell", "run", "/output", verdict), json!({ "run": run }))
}

fn with(mut record: Value, fields: Value) -> Value {
    record.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    record
}

/// What was done under the old file.
fn past() -> Vec<Value> {
    let raw = |id, command: &str, verdict| {
        let run = json!({ "run": { "command": command } });
        with(file(id, "run", "run", "", verdict), run)
    };
    let write = || file("s-3", "write_file", "write", "/output/big", "allow");
    vec![
        file("s-1", "read_file", "read", "/input/a.txt", "allow"),
        file("s-2", "write_file", "write", "/input/a.txt", "deny"),
        with(write(), json!({ "outcome": "begun" })),
        with(write(), json!({ "bytes": 101 })),
        file("s-4", "delete_file", "delete", "/output/b", "ask"),
        with(
            file("s-5", "copy_file", "copy", "/input/a.txt", "allow"),
            json!({ "to": "/output/c" }),
        ),
        line("s-6", "make test | tail -1", "ask"),
        line("s-7", "cargo test", "allow"),
        line("s-8", "rm -rf x", "deny"),
        line("s-9", "make test", "ask"),
        raw("s-10", "curl 'a b'", "allow"),
        raw("s-11", "rm -rf x", "deny"),
        raw("s-12", "ls -l", "allow"),
        with(file("s-13", "read_file", "read", "/output/x", "deny"), json!({ "worker": "reader" })),
        with(file("s-14", "read_file", "read", "/input/x", "allow"), json!({ "worker": "gone" })),
        with(file("s-15", "write_file", "call", "", "deny"), json!({ "code": "bad_arguments" })),
        with(file("s-16", "read_file", "read", "~x", "deny"), json!({ "code": "bad_path" })),
        with(
            file("s-17", "write_file", "write", "/output/x", "deny"),
            json!({ "code": "too_large" }),
        ),
        with(
            file("s-18", "shell", "run", "/output", "deny"),
            json!({ "code": "unfit", "run": { "command": "make test" } }),
        ),
        with(
            file("s-19", "shell", "run", "/output", "allow"),
            json!({ "code": "unconfined", "outcome": "failed", "run": { "command": "ls" } }),
        ),
    ]
}

#[test]
fn every_verdict_that_would_change_is_listed_with_the_line_that_decides() {
    let project = project();
    write_log(&project, &past());
    let before = project.log_lines();
    let run = project.zonekeep(["replay", "--config", "new.yaml"]);
    assert_snapshot!(run.to_string(), @"
    exit 1
    --- stdout
    s-2  deny → ask   write /input/a.txt  zones.input.approval.write: ask (new.yaml:5)
    s-3  allow → deny write /output/big too_large  zones.output.max_file_bytes: 100 (new.yaml:6)
    s-4  ask → deny   delete /output/b blocked  zones.output.approval.delete: blocked (new.yaml:6)
    s-7  allow → ask  run cargo test  shell.default: ask (new.yaml:12)
    s-8  deny → ask   run rm -rf x  shell.default: ask (new.yaml:12)
    s-9  ask → allow  run make test  shell rule 'make test': preApproved (new.yaml:10)
    s-10  allow → deny run curl 'a b' blocked  shell rule 'curl *': blocked (new.yaml:11)
    s-11  deny → allow run rm -rf x  no rule blocks it (not in a file)
    s-18  deny → allow run make test  shell rule 'make test': preApproved (new.yaml:10)
    9 of 14 verdict(s) would change: 3 now allowed, 3 now asked about, 3 now denied
    1 not judged: no worker file is for 'gone'
    1 not judged: the call itself was wrong
    1 not judged: the command line was never judged
    1 not judged: the size of what was refused is not in the record
    1 not judged: what was given is not a path
    --- stderr
    ");
    assert_eq!(project.log_lines(), before, "nothing is recorded");
}

#[test]
fn all_records_are_listed_if_wanted() {
    let project = project();
    write_log(&project, &past());
    let run = project.zonekeep(["replay", "--config", "new.yaml", "--all"]);
    let unchanged = run.stdout.lines().filter(|line| line.starts_with("s-") && !line.contains('→'));
    assert_snapshot!(unchanged.collect::<Vec<_>>().join("\n"), @"
    s-1  allow        read /input/a.txt  zones.input.approval.read: preApproved (not in a file)
    s-5  allow        copy /input/a.txt to /output/c  zones.input.approval.read: preApproved (not in a file)
    s-6  ask          run make test | tail -1  shell.default: ask (new.yaml:12)
    s-12  allow        run ls -l  no rule blocks it (not in a file)
    s-13 [reader]  deny         read /output/x outside  the worker does not have zone 'output' (not in a file)
    s-14  not judged   read /input/x  no worker file is for 'gone'
    s-15  not judged   call write_file  the call itself was wrong
    s-16  not judged   read ~x  what was given is not a path
    s-17  not judged   write /output/x  the size of what was refused is not in the record
    s-19  not judged   run ls  the command line was never judged
    ");
}

#[test]
fn the_changes_are_data_too() {
    let project = project();
    write_log(&project, &past());
    let run = project.zonekeep(["replay", "--config", "new.yaml", "--json"]);
    assert_eq!(run.exit, 1, "{run}");
    let value: Value = serde_json::from_str(&run.stdout).unwrap();
    let changes = value["changes"].as_array().unwrap();
    let shown = json!({
        "changed": value["changed"], "judged": value["judged"], "first": changes[0],
        "not_judged": value["not_judged"],
    });
    assert_snapshot!(serde_json::to_string_pretty(&shown).unwrap(), @r#"
    {
      "changed": {
        "allow": 3,
        "ask": 3,
        "deny": 3
      },
      "judged": 14,
      "first": {
        "id": "s-2",
        "time": "2026-01-01T00:00:00Z",
        "tool": "write_file",
        "action": "write",
        "about": "/input/a.txt",
        "old": {
          "verdict": "deny",
          "rule": null
        },
        "new": {
          "verdict": "ask",
          "rule": {
            "file": "new.yaml",
            "line": 5,
            "says": "zones.input.approval.write: ask"
          }
        }
      },
      "not_judged": [
        {
          "why": "no worker file is for 'gone'",
          "records": 1
        },
        {
          "why": "the call itself was wrong",
          "records": 1
        },
        {
          "why": "the command line was never judged",
          "records": 1
        },
        {
          "why": "the size of what was refused is not in the record",
          "records": 1
        },
        {
          "why": "what was given is not a path",
          "records": 1
        }
      ]
    }
    "#);
    let all = project.zonekeep(["replay", "--config", "new.yaml", "--json", "--all"]);
    let all: Value = serde_json::from_str(&all.stdout).unwrap();
    let count = |key: &str| all[key].as_array().unwrap().len();
    assert_eq!(count("changes"), changes.len());
    let entries = count("changes") + count("same") + count("skipped");
    assert_eq!(entries, past().len() - 1, "two lines are one record");
}

#[test]
fn under_the_same_file_nothing_changes_whatever_was_answered() {
    let project = project();
    let call = |tool: &str, arguments: Value, flags: &[&str]| {
        project.zonekeep(["tool", tool, &arguments.to_string()].iter().chain(flags)).exit
    };
    let worker = ["--worker", "reader.worker"];
    assert_eq!(call("read_file", json!({ "path": "/input/a.txt" }), &[]), 0);
    assert_eq!(call("read_file", json!({ "path": "/output/a.txt" }), &worker), 1);
    assert_eq!(call("write_file", json!({ "path": "/input/a", "content": "x" }), &[]), 1);
    assert_eq!(call("write_file", json!({ "path": "/output/a", "content": "x" }), &[]), 0);
    assert_eq!(call("delete_file", json!({ "path": "/output/a" }), &["--approve", "none"]), 1);
    assert_eq!(call("delete_file", json!({ "path": "/output/a" }), &["--approve", "all"]), 0);
    assert_eq!(call("read_file", json!({ "path": 7 }), &[]), 2);
    let run = project.zonekeep(["replay", "--config", "zonekeep.yaml"]);
    assert_snapshot!(run.to_string(), @"
    exit 0
    --- stdout
    no verdict of 6 would change
    1 not judged: the call itself was wrong
    --- stderr
    ");
    let strict =
        project.zonekeep(["replay", "--config", "zonekeep.yaml", "--set", "approval.mode=strict"]);
    assert_eq!(strict.exit, 1, "{strict}");
    assert!(strict.stdout.contains("2 of 6 verdict(s) would change: 0 now allowed"), "{strict}");
}

#[test]
fn commands_are_read_as_the_new_file_says() {
    let project = project();
    let bare = json!({ "mode": "argv", "cwd": "/output", "os_sandbox": false });
    let run = json!({ "run": { "command": "cargo test", "judged": bare } });
    write_log(
        &project,
        &[
            line("s-1", "cargo test", "allow"),
            line("s-2", "cargo test | tail -1", "ask"),
            with(line("s-3", "", "ask"), run),
        ],
    );
    let replay = |flag: &str| {
        let run = project.zonekeep(["replay", "--config", "zonekeep.yaml", "--set", flag]);
        run.stdout.lines().filter(|line| line.starts_with("s-")).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(replay("shell.mode=argv"), @"
    s-2  ask → deny   run cargo test | tail -1 unfit  shell.mode: argv (not in a file)
    ");
    assert_snapshot!(replay("sandbox.backend=none"), @"
    s-1  allow → deny run cargo test unfit  shell.mode: bash (zonekeep.yaml:8)
    s-2  ask → deny   run cargo test | tail -1 unfit  shell.mode: bash (zonekeep.yaml:8)
    s-3  ask → deny   run cargo test unfit  shell.mode: bash (zonekeep.yaml:8)
    ");
}

#[test]
fn a_worker_that_would_ask_for_too_much_is_not_judged() {
    let project = project();
    let read = file("s-1", "read_file", "read", "/input/x", "allow");
    write_log(&project, &[with(read, json!({ "worker": "reader" }))]);
    project.put("new.yaml", CONFIG.replace("input:", "mail:"));
    let run = project.zonekeep(["replay", "--config", "new.yaml"]);
    assert_snapshot!(run.to_string(), @"
    exit 0
    --- stdout
    no verdict of 0 would change
    1 not judged: the worker 'reader' cannot be granted: Child requests zone 'input' but parent doesn't have it
    --- stderr
    ");
}

#[test]
fn what_cannot_be_read_is_said() {
    let project = project();
    let cases: &[(&[&str], i32)] = &[
        (&["replay"], 2),
        (&["replay", "--config", "none.yaml"], 125),
        (&["replay", "--config", "new.yaml"], 0),
        (&["replay", "--config", "new.yaml", "--set", "sandbox.modus=direct"], 2),
    ];
    for (args, exit) in cases {
        let run = project.zonekeep(*args);
        assert_eq!(run.exit, *exit, "{args:?} {run}");
    }
    let run = project.zonekeep(["replay", "--config", "new.yaml"]);
    assert_eq!(run.ok(), "no verdict of 0 would change");
    assert!(project.log_lines().is_empty(), "nothing is made");
}
