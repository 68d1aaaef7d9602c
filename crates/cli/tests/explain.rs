//! `zonekeep explain`: the verdict, the rule, and a change that works.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::process::Command;

use insta::assert_snapshot;
use serde_json::{Value, json};
use zonekeep_testkit::Project;

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    input: { path: ./in, mode: ro }
    output: { path: ./out, mode: rw, approval: { write: preApproved, delete: blocked } }
    docs:
      path: ./docs
      mode: rw
      suffixes: [.md]
      max_file_bytes: 10
      approval: { write: ask }
";

fn project(config: &str) -> Project {
    Project::with_config(PROGRAM, config)
        .file("in/a.md", "hello\n")
        .dir("out")
        .dir("mail")
        .file("docs/big.md", "more than ten bytes\n")
        .file("docs/a.md", "small\n")
}

fn explain(project: &Project, verb: &str, path: &str, flags: &[&str]) -> Value {
    let run = project.zonekeep(["explain", verb, path, "--json"].iter().chain(flags));
    serde_json::from_str(run.ok()).unwrap()
}

/// Explains an action again with the proposed flags, as a shell would read them.
fn with_change(project: &Project, verb: &str, path: &str, flags: &str, change: &Value) -> Value {
    let proposed: Vec<&str> =
        change["edits"].as_array().unwrap().iter().map(|e| e["flag"].as_str().unwrap()).collect();
    let line = format!("exec \"$0\" explain {verb} \"$1\" --json {flags} {}", proposed.join(" "));
    let mut shell = Command::new("sh");
    project.prepare(&mut shell);
    let run = project.finish(shell.args(["-c", &line]).arg(project.program()).arg(path));
    serde_json::from_str(run.ok()).unwrap()
}

#[test]
fn a_denial_is_explained_with_rule_mount_and_change() {
    let project = project(CONFIG);
    let run = project.zonekeep(["explain", "write", "/input/../input/a.md"]);
    assert_snapshot!(run.to_string(), @"
    exit 0
    --- stdout
    write /input/a.md: denied (read_only)
      | Cannot write to '/input/../input/a.md': path is read-only.
      | Writable paths: /docs, /output
      rule:    zones.input.mode: ro (zonekeep.yaml:4)
      mount:   /input (ro) from [TEMP]/project/in
      change:  sandbox.zones.input.mode: rw  (at zonekeep.yaml:4)
      opens:   every file below /input can be changed, with the consent that its approval rules ask for
      change:  sandbox.zones.input.approval.write: preApproved  (at zonekeep.yaml:4)
      opens:   every file below /input can be created and changed without a question
      to try:  zonekeep explain write /input/a.md --set 'sandbox.zones.input.mode=rw' --set 'sandbox.zones.input.approval.write=preApproved'
    --- stderr
    ");
    let value = explain(&project, "write", "/input/a.md", &[]);
    assert_snapshot!(serde_json::to_string_pretty(&value).unwrap(), @r#"
    {
      "action": "write",
      "path": "/input/a.md",
      "verdict": "deny",
      "code": "read_only",
      "message": "Cannot write to '/input/a.md': path is read-only.\nWritable paths: /docs, /output",
      "rule": {
        "file": "zonekeep.yaml",
        "line": 4,
        "says": "zones.input.mode: ro"
      },
      "mount": {
        "path": "/input",
        "host": "[TEMP]/project/in",
        "mode": "ro"
      },
      "change": {
        "text": "zonekeep.yaml:4: sandbox.zones.input.mode: rw; zonekeep.yaml:4: sandbox.zones.input.approval.write: preApproved",
        "edits": [
          {
            "file": "zonekeep.yaml",
            "line": 4,
            "key": "sandbox.zones.input.mode",
            "value": "rw",
            "flag": "--set 'sandbox.zones.input.mode=rw'",
            "opens": "every file below /input can be changed, with the consent that its approval rules ask for"
          },
          {
            "file": "zonekeep.yaml",
            "line": 4,
            "key": "sandbox.zones.input.approval.write",
            "value": "preApproved",
            "flag": "--set 'sandbox.zones.input.approval.write=preApproved'",
            "opens": "every file below /input can be created and changed without a question"
          }
        ]
      }
    }
    "#);
}

#[test]
fn what_is_allowed_needs_no_change() {
    let project = project(CONFIG);
    let run = project.zonekeep(["explain", "read", "/input/a.md"]);
    assert_snapshot!(run.to_string(), @"
    exit 0
    --- stdout
    read /input/a.md: allowed
      rule:    zones.input.approval.read: preApproved (not in a file)
      mount:   /input (ro) from [TEMP]/project/in
    --- stderr
    ");
    let value = explain(&project, "read", "/input/a.md", &[]);
    assert_eq!(
        (&value["verdict"], &value["change"], &value["code"]),
        (&json!("allow"), &Value::Null, &Value::Null)
    );
    let run = project.zonekeep(["explain", "write", "/docs/a.md"]);
    assert_snapshot!(run.to_string(), @"
    exit 0
    --- stdout
    write /docs/a.md: asked about
      rule:    zones.docs.approval.write: ask (zonekeep.yaml:11)
      mount:   /docs (rw) from [TEMP]/project/docs
      change:  sandbox.zones.docs.approval.write: preApproved  (at zonekeep.yaml:11)
      opens:   every file below /docs can be created and changed without a question
      to try:  zonekeep explain write /docs/a.md --set 'sandbox.zones.docs.approval.write=preApproved'
    --- stderr
    ");
}

#[test]
fn what_nothing_would_allow_is_said_to_be_so() {
    let project = project(CONFIG);
    let cases = [
        ("read", "/etc/passwd", "outside"),
        ("delete", "/output", "top_directory"),
        ("write", "/", "top_directory"),
        ("read", "a\u{202e}\n", "outside"),
        ("read", "~root/x", "bad_path"),
        ("read", "", "bad_path"),
    ];
    for (verb, path, code) in cases {
        let value = explain(&project, verb, path, &[]);
        assert_eq!(
            (&value["verdict"], &value["code"]),
            (&json!("deny"), &json!(code)),
            "{verb} {path}"
        );
        assert_eq!(value["change"], Value::Null, "{verb} {path}");
    }
    let run = project.zonekeep(["explain", "read", "/etc/passwd"]);
    assert!(run.ok().ends_with("change:  no change of the project file would allow this"), "{run}");
}

/// Project file, flags, verb, path, verdict, code and line.
type Case<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str, &'a str, Option<u64>);

/// Every kind of refusal and question, with the line that decides; the change
/// that is proposed is made, and has to work.
#[test]
fn every_proposal_works_when_it_is_followed() {
    let strict = format!("{CONFIG}approval: {{ mode: strict }}\n");
    let manual = format!("{CONFIG}approval: {{ mode: manual }}\n");
    let rules = format!(
        "{CONFIG}tools: [read_file, write_file]\ntool_rules:\n  write_file: {{ approval_required: true }}\n  read_file: {{ allowed: false }}\n"
    );
    let paths = "sandbox:\n  mode: direct\n  paths:\n    in.put: { root: ./in }\n";
    let old = "sandboxes:\n  input: { path: ./in, mode: ro }\n";
    let short = "sandbox:\n  mode: direct\n  zones:\n    output: ./out\n";
    let cases: &[Case<'_>] = &[
        (CONFIG, "", "write", "/input/a.md", "deny", "read_only", Some(4)),
        (CONFIG, "", "delete", "/input/a.md", "deny", "read_only", Some(4)),
        (CONFIG, "", "delete", "/output/a.md", "deny", "blocked", Some(5)),
        (CONFIG, "", "write", "/docs/a.md", "ask", "none", Some(11)),
        (CONFIG, "", "delete", "/docs/a.md", "ask", "none", None),
        (CONFIG, "", "read", "/docs/a.txt", "deny", "suffix", Some(9)),
        (CONFIG, "", "write", "/docs/a.txt", "deny", "suffix", Some(9)),
        (CONFIG, "", "read", "/docs/big.md", "deny", "too_large", Some(10)),
        (CONFIG, "", "read", "/mail/a.md", "deny", "outside", None),
        (CONFIG, "", "write", "/mail/a.md", "deny", "outside", None),
        (CONFIG, "", "write", "/output/.git/hooks/x", "deny", "guarded", None),
        (CONFIG, "", "write", "/output/.envrc", "ask", "none", None),
        (CONFIG, "", "read", "/output/.netrc", "deny", "sensitive", None),
        (CONFIG, "", "write", "/output/x/.AWS/credentials", "deny", "sensitive", None),
        (&strict, "", "write", "/docs/a.md", "deny", "declined", Some(12)),
        (&manual, "", "write", "/output/a.md", "ask", "none", Some(12)),
        (&rules, "", "delete", "/output/a.md", "deny", "no_tool", Some(12)),
        (&rules, "", "read", "/input/a.md", "deny", "no_tool", Some(15)),
        (&rules, "", "write", "/output/a.md", "ask", "none", Some(14)),
        (paths, "", "write", "/in.put/a.md", "deny", "read_only", None),
        (old, "", "delete", "/input/a.md", "deny", "read_only", Some(2)),
        (short, "", "write", "/output/a.md", "ask", "none", None),
        ("", "", "write", "/cache/a.md", "ask", "none", None),
        ("", "", "read", "/mail/a.md", "deny", "outside", None),
        (
            CONFIG,
            "--set sandbox.zones.output.mode=ro",
            "write",
            "/output/a.md",
            "deny",
            "read_only",
            None,
        ),
        ("", "--zone more=in", "write", "/more/a.md", "deny", "read_only", None),
        ("", "--zone more=in:rw", "delete", "/more/a.md", "ask", "none", None),
    ];
    for (config, flags, verb, path, verdict, code, line) in cases {
        let label = format!("{verb} {path} {flags} in\n{config}");
        let project = project(config);
        let words: Vec<&str> = flags.split_whitespace().collect();
        let value = explain(&project, verb, path, &words);
        assert_eq!(value["verdict"], *verdict, "{label}\n{value:#}");
        assert_eq!(value["code"].as_str().unwrap_or("none"), *code, "{label}\n{value:#}");
        assert_eq!(value["rule"]["line"].as_u64(), *line, "{label}\n{value:#}");
        assert_eq!(value["rule"]["file"].is_string(), line.is_some(), "{label}\n{value:#}");
        let change = &value["change"];
        let edits = change["edits"].as_array().unwrap_or_else(|| panic!("{label}\n{value:#}"));
        assert!(!edits.is_empty(), "{label}\n{value:#}");
        for edit in edits {
            assert!(!edit["opens"].as_str().unwrap().is_empty(), "{label}: what else it opens");
        }
        let after = with_change(&project, verb, path, flags, change);
        assert_eq!(after["verdict"], "allow", "{label}\n{value:#}\n{after:#}");
    }
}

#[test]
fn a_worker_that_asks_for_too_little_is_told_so() {
    let project = project(CONFIG).file(
        "reader.worker",
        "---\nname: reader\nsandbox: { zones: [{ name: output, mode: ro }] }\n---\n",
    );
    let run = project.zonekeep(["explain", "write", "/output/a.md", "--worker", "reader.worker"]);
    assert_snapshot!(run.to_string(), @"
    exit 0
    --- stdout
    write /output/a.md: denied (read_only)
      | Cannot write to '/output/a.md': path is read-only.
      | Writable paths: none
      rule:    zones.output.mode: ro (reader.worker:3)
      mount:   /output (ro) from [TEMP]/project/out
      change:  the project allows it: the file of worker 'reader' has to ask for it, or ask for less consent
    --- stderr
    ");
}

#[test]
fn what_is_shown_can_be_pasted_and_disguises_nothing() {
    let run = project(CONFIG).zonekeep(["explain", "write", "/input/it's a \u{202e}file"]);
    let last = run.ok().lines().last().unwrap();
    let want = r"to try:  zonekeep explain write '/input/it'\''s a \u{202e}file' --set";
    assert!(last.contains(want), "{last}");
}

#[test]
fn explaining_does_nothing_and_records_nothing() {
    let project = Project::new(PROGRAM);
    for verb in ["read", "write", "delete"] {
        project.zonekeep(["explain", verb, "/cache/a"]).ok();
        project.zonekeep(["explain", verb, "/etc/passwd"]).ok();
    }
    assert_eq!(project.log_lines(), Vec::<String>::new());
    assert_eq!(project.tree(""), Vec::<String>::new());
}

#[test]
fn an_unknown_verb_is_wrong_usage() {
    assert_eq!(Project::new(PROGRAM).zonekeep(["explain", "eat", "/cache"]).exit, 2);
    assert_eq!(Project::new(PROGRAM).zonekeep(["explain", "read"]).exit, 2);
}
