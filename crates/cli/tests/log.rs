//! `zonekeep log`, and what the audit log holds.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;

use insta::assert_snapshot;
use serde_json::{Value, json};
use zonekeep_testkit::{PATIENCE, Project, Stopped, eventually};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    input: { path: ./in, mode: ro }
    output: { path: ./out, mode: rw, approval: { write: preApproved } }
";

fn project() -> Project {
    Project::with_config(PROGRAM, CONFIG).file("in/a.txt", "hello\n").dir("out")
}

fn call(project: &Project, tool: &str, arguments: Value, flags: &[&str]) -> i32 {
    project.zonekeep(["tool", tool, &arguments.to_string()].iter().chain(flags)).exit
}

fn records(project: &Project, flags: &[&str]) -> Vec<Value> {
    let run = project.zonekeep(["log", "--json"].iter().chain(flags));
    run.ok().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What an agent names is printed so that a terminal does not act on it, and is the
/// same text for a program that reads it.
#[test]
fn json_has_no_character_that_a_terminal_would_act_on() {
    let project = project();
    let odd = "/input/\u{9b}31m\u{7f}\u{202e}txt\u{2066}\u{200b}\u{e0041}é";
    call(&project, "read_file", json!({ "path": odd }), &[]);
    let run = project.zonekeep(["log", "--json"]);
    let raw = |c: char| c != '\n' && (c.is_control() || !c.is_ascii() && c != 'é');
    assert_eq!(run.ok().chars().find(|c| raw(*c)), None, "{run}");
    assert!(run.stdout.contains("\\u009b") && run.stdout.contains("\\udb40\\udc41"), "{run}");
    let id = records(&project, &[])[0]["id"].as_str().unwrap().to_owned();
    for flags in [vec!["log", "--json", "--why", &id], vec!["explain", "read", odd, "--json"]] {
        let run = project.zonekeep(&flags);
        assert_eq!(run.stdout.chars().find(|c| raw(*c)), None, "{flags:?} {run}");
        assert!(serde_json::from_str::<Value>(&run.stdout).is_ok(), "{flags:?} {run}");
    }
}

/// A read, a refused write, a write, a refused question and a failure.
fn busy() -> Project {
    let project = project().file(
        "reader.worker",
        "---\nname: reader\nsandbox: { zones: [{ name: input, mode: ro }] }\n---\n",
    );
    let worker = ["--worker", "reader.worker"];
    assert_eq!(call(&project, "read_file", json!({ "path": "/input/a.txt" }), &[]), 0);
    assert_eq!(
        call(&project, "write_file", json!({ "path": "/input/a.txt", "content": "x" }), &[]),
        1
    );
    assert_eq!(
        call(&project, "write_file", json!({ "path": "/output/b.txt", "content": "new" }), &[]),
        0
    );
    assert_eq!(call(&project, "delete_file", json!({ "path": "/output/b.txt" }), &[]), 1);
    assert_eq!(call(&project, "read_file", json!({ "path": "/input/none" }), &worker), 1);
    assert_eq!(call(&project, "read_file", json!({ "path": "/output/../etc/x" }), &worker), 1);
    assert_eq!(
        call(
            &project,
            "copy_file",
            json!({ "source": "/input/a.txt", "destination": "/output/c.txt" }),
            &[]
        ),
        0
    );
    project
}

#[test]
fn every_action_and_refusal_is_recorded_with_its_rule() {
    let records = records(&busy(), &[]);
    let shown: Vec<String> = records
        .iter()
        .map(|r| {
            let text = |key: &str| r[key].as_str().unwrap_or("-").to_owned();
            let place =
                format!("{}:{}", r["rule"]["file"].as_str().unwrap_or("-"), r["rule"]["line"]);
            format!(
                "{} {} {} to {} by {}: {} {} {} | {} at {place} | {}",
                text("tool"),
                text("action"),
                text("path"),
                text("to"),
                text("worker"),
                text("verdict"),
                text("outcome"),
                text("code"),
                r["rule"]["says"].as_str().unwrap_or("-"),
                r["bytes"],
            )
        })
        .collect();
    assert_snapshot!(shown.join("\n"), @"
    read_file read /input/a.txt to - by -: allow done - | zones.input.approval.read: preApproved at -:null | 6
    write_file write /input/a.txt to - by -: deny refused read_only | zones.input.mode: ro at zonekeep.yaml:4 | null
    write_file write /output/b.txt to - by -: allow done - | zones.output.approval.write: preApproved at zonekeep.yaml:5 | 3
    delete_file delete /output/b.txt to - by -: ask refused declined | zones.output.approval.delete: ask at -:null | null
    read_file read /input/none to - by reader: allow failed not_found | zones.input.approval.read: preApproved at -:null | null
    read_file read /etc/x to - by reader: deny refused outside | no zone holds the path at -:null | null
    copy_file copy /input/a.txt to /output/c.txt by -: allow done - | zones.input.approval.read: preApproved at -:null | 6
    ");
    for record in &records {
        assert!(record["time"].as_str().unwrap().ends_with('Z'), "{record}");
        assert!(record["duration_us"].is_u64(), "{record}");
        assert!(record["id"].as_str().unwrap().starts_with(record["session"].as_str().unwrap()));
    }
    let answer = &records[3]["answer"];
    assert_eq!((&answer["approved"], &answer["by"]), (&json!(false), &json!("nobody")));
}

#[test]
fn records_are_shown_one_to_a_line() {
    let project = busy();
    let run = project.zonekeep(["log"]);
    // Without the time and the session, which differ each time.
    let lines = run.ok().lines().map(|line| {
        let rest = line.splitn(3, "  ").nth(2).unwrap();
        let id = line.split("  ").nth(1).unwrap();
        id.find(" [").map_or(rest.to_owned(), |at| format!("{} {rest}", &id[at + 1..]))
    });
    assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @"
    allow done    read /input/a.txt 6B  zones.input.approval.read: preApproved
    deny  refused write /input/a.txt read_only  zones.input.mode: ro (zonekeep.yaml:4)
    allow done    write /output/b.txt 3B  zones.output.approval.write: preApproved (zonekeep.yaml:5)
    ask   refused delete /output/b.txt declined  zones.output.approval.delete: ask  no by nobody
    [reader] allow failed  read /input/none not_found  zones.input.approval.read: preApproved
    [reader] deny  refused read /etc/x outside  no zone holds the path
    allow done    copy /input/a.txt to /output/c.txt 6B  zones.input.approval.read: preApproved
    ");
}

#[test]
fn filters_choose_records() {
    let project = busy();
    let session = records(&project, &["-n", "1"])[0]["session"].as_str().unwrap().to_owned();
    let cases: &[(&[&str], usize)] = &[
        (&[], 7),
        (&["-n", "2"], 2),
        (&["-n", "0"], 7),
        (&["--tool", "write_file"], 2),
        (&["--verdict", "deny"], 2),
        (&["--verdict", "ask"], 1),
        (&["--outcome", "refused"], 3),
        (&["--outcome", "failed"], 1),
        (&["--worker", "reader"], 2),
        (&["--path", "/output"], 3),
        (&["--path", "/output/"], 3),
        (&["--path", "/out"], 0),
        (&["--path", "/output/c.txt"], 1),
        (&["--path", "/"], 7),
        (&["--session", &session], 1),
        (&["--tool", "write_file", "--verdict", "deny"], 1),
        (&["--all-projects"], 7),
    ];
    for (flags, want) in cases {
        assert_eq!(records(&project, flags).len(), *want, "{flags:?}");
    }
    assert_eq!(project.zonekeep(["log", "--verdict", "maybe"]).exit, 2);
}

#[test]
fn another_projects_records_are_shown_on_request() {
    let project = busy().dir("../second");
    let run = project.zonekeep_in("../second", ["tool", "list_files", r#"{"path": "/"}"#]);
    run.ok();
    let own = project.zonekeep_in("../second", ["log", "--json"]);
    assert_eq!(own.ok().lines().count(), 1);
    assert_eq!(records(&project, &[]).len(), 7);
    assert_eq!(records(&project, &["--all-projects"]).len(), 8);
}

#[test]
fn an_empty_log_is_empty() {
    let run = project().zonekeep(["log"]);
    assert_eq!((run.exit, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
}

#[test]
fn broken_lines_are_counted_and_passed_over() {
    let project = busy();
    let log = std::fs::read_dir(project.state().join("zonekeep/audit")).unwrap();
    let log = log.map(|entry| entry.unwrap().path()).next().unwrap();
    let mut text = std::fs::read_to_string(&log).unwrap();
    text.insert_str(0, "not a record\n");
    std::fs::write(&log, text).unwrap();
    let run = project.zonekeep(["log", "--json"]);
    assert_eq!(run.ok().lines().count(), 7);
    assert_eq!(run.stderr, "warning: 1 line(s) of the log are not records\n");
}

#[test]
fn follow_shows_records_as_they_come() {
    let project = busy();
    let mut command = project.command();
    command.args(["log", "--follow", "--json", "-n", "1", "--outcome", "done"]);
    let mut child = Stopped(command.stdout(Stdio::piped()).spawn().unwrap());
    let out = child.0.stdout.take().unwrap();
    let (send, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            let _ = send.send(serde_json::from_str::<Value>(&line).unwrap());
        }
    });
    let next = || lines.recv_timeout(PATIENCE).expect("a line in time");
    assert_eq!(next()["tool"], "copy_file", "what was there comes first");
    // A refusal does not pass the filter; a write is shown once, when it is done.
    call(&project, "read_file", json!({ "path": "/etc/x" }), &[]);
    call(&project, "write_file", json!({ "path": "/output/new.txt", "content": "" }), &[]);
    let record = next();
    assert_eq!((&record["path"], &record["outcome"]), (&json!("/output/new.txt"), &json!("done")));
    call(&project, "read_file", json!({ "path": "/input/a.txt" }), &[]);
    assert_eq!(next()["path"], "/input/a.txt");
}

#[test]
fn a_log_is_never_inside_a_zone_and_only_the_user_reads_it() {
    use std::os::unix::fs::PermissionsExt;
    let project = busy();
    let log = std::fs::read_dir(project.state().join("zonekeep/audit")).unwrap();
    let log = log.map(|entry| entry.unwrap().path()).next().unwrap();
    assert_eq!(log.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    // A state directory inside a zone makes the zone unusable, not the log readable.
    let mut command = project.command();
    command.env("XDG_STATE_HOME", project.path("out"));
    let run = project.finish(command.args(["tool", "list_files", r#"{"path": "/"}"#]));
    assert_eq!(run.exit, 125, "{run}");
}

#[test]
fn control_characters_of_an_agent_do_not_reach_the_terminal() {
    let project = project();
    call(&project, "read_file", json!({ "path": "/input/\u{1b}[2J\u{202e}\nx" }), &[]);
    let run = project.zonekeep(["log"]);
    assert_eq!(run.ok().lines().count(), 1, "{run}");
    assert!(!run.stdout.contains('\u{1b}') && !run.stdout.contains('\u{202e}'), "{run}");
}

#[test]
fn two_processes_that_append_at_once_lose_and_mix_nothing() {
    let project = project();
    let script = r#"i=0; while [ $i -lt 200 ]; do
        "$0" tool read_file '{"path": "/input/a.txt"}' >/dev/null || exit 1
        i=$((i + 1)); done"#;
    let start = || {
        let mut shell = std::process::Command::new("sh");
        project.prepare(&mut shell);
        Stopped(shell.args(["-c", script]).arg(project.program()).spawn().unwrap())
    };
    let mut both = [start(), start()];
    for child in &mut both {
        let status = eventually("the end of 200 calls", || child.0.try_wait().unwrap());
        assert!(status.success());
    }
    let lines = project.log_lines();
    assert_eq!(lines.len(), 400);
    let mut ids = std::collections::HashSet::new();
    for line in &lines {
        let record: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        assert_eq!(record["outcome"], "done");
        assert!(ids.insert(record["id"].as_str().unwrap().to_owned()), "{line}");
    }
}

#[test]
fn a_log_that_cannot_be_opened_fails_the_action() {
    let project = project().file("../blocked", "a file, not a directory");
    let write = ["tool", "write_file", r#"{"path": "/output/b.txt", "content": "x"}"#];
    let run = |flags: &[&str]| {
        let mut command = project.command();
        command.env("XDG_STATE_HOME", project.beside("blocked"));
        project.finish(command.args(write).args(flags))
    };
    assert_snapshot!(run(&[]).to_string(), @"
    exit 125
    --- stdout

    --- stderr
    error: the audit log in [TEMP]/blocked/zonekeep cannot be opened: Not a directory (os error 20)

    hint: make the state directory writable, set XDG_STATE_HOME, or write `audit: best_effort` in the project file
    ");
    assert_eq!(project.tree("out"), Vec::<String>::new());
    run(&["--set", "audit=best_effort"]).ok();
    assert_eq!(project.read("out/b.txt"), "x");
}

#[test]
fn a_log_that_cannot_be_written_fails_the_action() {
    let project = busy();
    // The log is longer than any file may become.
    let limited = |args: &[&str]| {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "ulimit -f 1; exec \"$0\" \"$@\"", PROGRAM]).args(args);
        project.prepare(&mut command);
        project.finish(&mut command)
    };
    let write = ["tool", "write_file", r#"{"path": "/output/b.txt", "content": "x"}"#];
    assert_snapshot!(limited(&write).to_string(), @"
    exit 125
    --- stdout

    --- stderr
    Cannot write to '/output/b.txt': the action could not be written to the audit log, so it was not done.
    Tell the user; nothing was changed.
    ");
    assert_eq!(project.read("out/b.txt"), "new", "nothing was written");
    // Neither is anything told that could not be recorded, nor a refusal.
    let read = limited(&["tool", "read_file", r#"{"path": "/input/a.txt"}"#]);
    assert_eq!((read.exit, read.stdout.as_str()), (125, ""), "{read}");
    let refused = limited(&["tool", "read_file", r#"{"path": "/etc/passwd"}"#]);
    assert_eq!(refused.exit, 125, "{refused}");

    limited(&[&write[..], &["--set", "audit=best_effort"]].concat()).ok();
    assert_eq!(project.read("out/b.txt"), "x");
}
