//! `zonekeep log --why`: all that was decided about one record.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};
use zonekeep::StateDir;
use zonekeep::audit::log_path;
use zonekeep_testkit::Project;

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    input: { path: ./in, mode: ro }
    output: { path: ./out, mode: rw }
";

fn project() -> Project {
    Project::with_config(PROGRAM, CONFIG).file("in/a.txt", "hello\n").dir("out")
}

/// Writes the log of a project.
fn write_log(project: &Project, records: &[Value]) {
    let dir = project.path("").canonicalize().unwrap();
    let path = log_path(&StateDir::at(project.state().join("zonekeep")), &dir);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let lines = records.iter().map(|record| format!("{record}\n"));
    fs::write(path, lines.collect::<String>()).unwrap();
}

/// Returns a record with what every record has.
fn record(id: &str, fields: Value) -> Value {
    let mut record = json!({
        "id": id, "time": "2026-01-01T00:00:00Z", "session": "ab12", "project": "/p",
        "tool": "read_file", "action": "read", "path": "/input/a.txt", "verdict": "allow",
        "outcome": "done", "duration_us": 5,
    });
    record.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    record
}

fn command(id: &str, outcome: &str) -> Value {
    let part = |text: &str, approval: &str, rule: Value| json!({ "text": text, "approval": approval, "rule": rule });
    let asks = json!({ "says": "shell.default: ask", "file": "zonekeep.yaml", "line": 9 });
    let mut sort = part("sort -o x y", "ask", asks.clone());
    sort["why"] = json!(["'-o' writes a file"]);
    let mut record = record(
        id,
        json!({
            "tool": "shell", "action": "run", "path": "/output", "verdict": "ask",
            "rule": asks, "outcome": outcome, "worker": "builder",
            "run": {
                "command": "ls\nsort -o x y",
                "judged": {
                    "mode": "bash", "cwd": "/output", "os_sandbox": true, "background": true,
                    "grants": "example.org",
                    "parts": [
                        part("ls", "preApproved", json!({ "says": "shell.presets: read_only" })),
                        sort,
                    ],
                },
            },
        }),
    );
    if outcome == "done" {
        let answer = json!({
            "approved": true, "by": "terminal", "remember": "session", "note": "only\nthis",
        });
        record["answer"] = answer;
        record["bytes"] = json!(12);
        record["run"]["exit_code"] = json!(3);
        record["run"]["backend"] = json!("namespaces");
    }
    record
}

#[test]
fn a_command_is_shown_with_its_parts_the_answer_and_the_end() {
    let project = project();
    let records = ["asked", "begun", "done"].map(|outcome| command("ab12-7", outcome));
    write_log(&project, &records);
    let run = project.zonekeep(["log", "--why", "ab12-7"]);
    assert_snapshot!(run.to_string(), @r"
    exit 0
    --- stdout
    run ls\nsort -o x y: asked about, done
      id:      ab12-7
      time:    2026-01-01T00:00:00Z
      worker:  builder
      tool:    shell
      rule:    shell.default: ask (zonekeep.yaml:9)
      mode:    bash, from /output, in an OS sandbox, in the background
      network: example.org, by its rules
      command: ls
        says:  preApproved
        rule:  shell.presets: read_only (not in a file)
      command: sort -o x y
        says:  ask
        rule:  shell.default: ask (zonekeep.yaml:9)
        why:   '-o' writes a file
      answer:  yes by terminal, for the session
      note:    only\nthis
      ended:   exit 3
      held by: namespaces
      bytes:   12
    --- stderr
    ");
    let json = project.zonekeep(["log", "--why", "7", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(json.ok()).unwrap(), records[2]);
}

#[test]
fn a_command_that_was_asked_about_and_never_ended_is_shown() {
    let project = project();
    write_log(&project, &[command("ab12-7", "asked")]);
    let run = project.zonekeep(["log", "--why", "ab12-7"]);
    assert!(run.ok().starts_with("run ls\\nsort -o x y: asked about, asked\n"), "{run}");
}

#[test]
fn a_file_action_is_shown_with_rule_answer_and_outcome() {
    let project = project();
    let call = |tool: &str, path: &str| {
        let arguments = json!({ "path": path, "content": "x" });
        assert_eq!(project.zonekeep(["tool", tool, &arguments.to_string()]).exit, 1);
    };
    call("write_file", "/input/a.txt");
    call("write_file", "/output/a.txt");
    let ids: Vec<String> = project
        .zonekeep(["log", "--json"])
        .ok()
        .lines()
        .map(|line| {
            let record: Value = serde_json::from_str(line).unwrap();
            record["id"].as_str().unwrap().to_owned()
        })
        .collect();
    let shown = ids.iter().map(|id| {
        // The session and the time differ each time.
        let run = project.zonekeep(["log", "--why", &id[4..]]).to_string();
        let lines = run.lines().filter(|line| !line.starts_with("  time: "));
        lines.collect::<Vec<_>>().join("\n").replace(id.as_str(), "[ID]")
    });
    assert_snapshot!(shown.collect::<Vec<_>>().join("\n\n"), @"
    exit 0
    --- stdout
    write /input/a.txt: denied, refused (read_only)
      | Zone 'input' is read-only for this worker
      id:      [ID]
      tool:    write_file
      rule:    zones.input.mode: ro (zonekeep.yaml:4)
    --- stderr

    exit 0
    --- stdout
    write /output/a.txt: asked about, refused (declined)
      | Cannot write to '/output/a.txt': it needs the user's approval, and there is no terminal to ask on.
      id:      [ID]
      tool:    write_file
      rule:    zones.output.approval.write: ask (not in a file)
      answer:  no by nobody
    --- stderr
    ");
}

#[test]
fn the_end_of_an_id_will_do_where_it_is_the_only_one() {
    let project = project();
    let ids = ["ab12-1", "ab12-11", "cd12-1", "cd12-2"];
    write_log(&project, &ids.map(|id| record(id, json!({}))));
    // text, what it stands for
    let cases = [
        ("ab12-1", Some("ab12-1")),
        ("b12-1", Some("ab12-1")),
        ("11", Some("ab12-11")),
        ("2", Some("cd12-2")),
        ("12-1", None),
        ("-1", None),
        ("1", None),
        ("12", None),
        ("3", None),
        ("", None),
    ];
    for (text, want) in cases {
        let run = project.zonekeep(["log", "--json", &format!("--why={text}")]);
        assert_eq!(run.exit, i32::from(want.is_none()), "{text:?} {run}");
        let shown: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(shown["id"].as_str(), want, "{text:?}");
    }
    let unknown = project.zonekeep(["log", "--why", "nothing"]);
    let several = project.zonekeep(["log", "--why", "12-1"]);
    assert_snapshot!(format!("{unknown}\n{several}"), @"
    exit 1
    --- stdout

    --- stderr
    error: no record has the id 'nothing'

    hint: `zonekeep log -n 0` shows the ids of all records
    exit 1
    --- stdout

    --- stderr
    error: '12-1' is the end of 2 ids

    hint: write more of it: cd12-1, ab12-1
    ");
    assert_eq!(project.zonekeep(["log", "--why", "1", "--follow"]).exit, 2);
}

#[test]
fn without_a_log_there_is_no_record() {
    assert_eq!(project().zonekeep(["log", "--why", "1"]).exit, 1);
}
