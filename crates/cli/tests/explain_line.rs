//! `zonekeep explain run 'LINE'`: what the rules say about a command line.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::process::Command;

use insta::assert_snapshot;
use serde_json::{Value, json};
use zonekeep_testkit::Project;

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

const CONFIG: &str = r#"sandbox:
  mode: direct
  working_dir: /repo
  zones:
    repo: { path: ./repo, mode: rw }
    input: { path: ./in, mode: ro }
shell:
  presets: [read_only]
  rules:
    - { pattern: "git push *", approval: ask, grants: { network: [example.org] } }
    - { pattern: "git commit *", approval: preApproved, paths: [/repo] }
    - { pattern: "rm -rf *", approval: blocked }
  default: ask
"#;

/// A file that says nothing about commands.
const SILENT: &str = "sandbox: { mode: direct, zones: { repo: { path: ./repo, mode: rw } } }\n";

fn project(config: &str) -> Project {
    Project::with_config(PROGRAM, config).dir("repo").dir("in")
}

fn explain(project: &Project, line: &str, flags: &[&str]) -> Value {
    let run = project.zonekeep(["explain", "run", line, "--json"].iter().chain(flags));
    serde_json::from_str(run.ok()).unwrap()
}

#[test]
fn a_question_is_explained_with_parse_rules_and_change() {
    let project = project(CONFIG);
    let line = "git log | head -3 && timeout 9 git push \"$remote\" *.txt; cargo -q test";
    let run = project.zonekeep(["explain", "run", line]);
    assert_snapshot!(run.to_string(), @r#"
    exit 0
    --- stdout
    run git log | head -3 && timeout 9 git push "$remote" *.txt; cargo -q test: asked about
      rule:    shell rule 'git push *': ask (zonekeep.yaml:10)
      mode:    bash, from /repo, in an OS sandbox (assumed)
      network: none
      command: git log
        words: git, log
        in:    pipeline
        says:  preApproved
        rule:  shell.presets: read_only (zonekeep.yaml:8)
      command: head -3
        words: head, -3
        in:    pipeline
        says:  preApproved
        rule:  shell.presets: read_only (zonekeep.yaml:8)
      command: timeout 9 git push "$remote" *.txt
        words: git, push, "$remote" (unknown), *.txt (names of files)
        in:    wrapper
        says:  ask
        rule:  shell rule 'git push *': ask (zonekeep.yaml:10)
        why:   an argument is '"$remote"', which only the running shell knows
        gives: example.org
      command: cargo -q test
        words: cargo, -q, test
        says:  ask
        rule:  shell.default: ask (zonekeep.yaml:13)
      change:  no narrow rule would let this run
    --- stderr
    "#);
    assert!(project.log_lines().is_empty(), "nothing is recorded");
}

#[test]
fn a_refusal_is_explained_with_what_the_agent_reads() {
    let project = project(CONFIG);
    let run = project.zonekeep(["explain", "run", "make test && /bin/rm -fr /x"]);
    assert_snapshot!(run.to_string(), @"
    exit 0
    --- stdout
    run make test && /bin/rm -fr /x: denied (blocked)
      | Cannot run 'make test && /bin/rm -fr /x': this command is not allowed, and asking the user will not change it.
      | Commands that need no approval: git commit *
      rule:    shell rule 'rm -rf *': blocked (zonekeep.yaml:12)
      mode:    bash, from /repo, in an OS sandbox (assumed)
      command: make test
        words: make, test
        says:  ask
        rule:  shell.default: ask (zonekeep.yaml:13)
      command: /bin/rm -fr /x
        words: /bin/rm, -fr, /x
        says:  blocked
        rule:  shell rule 'rm -rf *': blocked (zonekeep.yaml:12)
      change:  no narrow rule would let this run
    --- stderr
    ");
}

#[test]
fn the_rule_goes_where_it_decides_first() {
    let project = project(CONFIG);
    let run = project.zonekeep(["explain", "run", "git push origin main; cargo test"]);
    assert_snapshot!(run.to_string(), @r#"
    exit 0
    --- stdout
    run git push origin main; cargo test: asked about
      rule:    shell rule 'git push *': ask (zonekeep.yaml:10)
      mode:    bash, from /repo, in an OS sandbox (assumed)
      network: none
      command: git push origin main
        words: git, push, origin, main
        says:  ask
        rule:  shell rule 'git push *': ask (zonekeep.yaml:10)
        gives: example.org
      command: cargo test
        words: cargo, test
        says:  ask
        rule:  shell.default: ask (zonekeep.yaml:13)
      change:  shell.rules: - { pattern: "git push", approval: preApproved, grants: { network: ["example.org"] } }  (before zonekeep.yaml:10)
      opens:   every command that starts with git push runs without a question, and reaches example.org, unless it does more than that says
      change:  shell.rules: - { pattern: "cargo test", approval: preApproved }  (after zonekeep.yaml:12)
      opens:   every command that starts with cargo test runs without a question, unless it does more than that says
    --- stderr
    "#);
    let edited = CONFIG
        .replace(
            "    - { pattern: \"git push *\"",
            "    - { pattern: \"git push\", approval: preApproved }\n    - { pattern: \"git push *\"",
        )
        .replace("  default:", "    - { pattern: \"cargo test\", approval: preApproved }\n  default:");
    project.put("zonekeep.yaml", edited);
    assert_eq!(explain(&project, "git push origin main; cargo test", &[])["verdict"], "allow");
}

#[test]
fn the_explanation_is_data_too() {
    let project = project(CONFIG);
    let value = explain(&project, "git push", &["--cwd", "/input/.."]);
    assert_snapshot!(serde_json::to_string_pretty(&value).unwrap(), @r#"
    {
      "action": "run",
      "command": "git push",
      "cwd": "/",
      "mode": "bash",
      "os_sandbox": true,
      "verdict": "ask",
      "code": null,
      "message": null,
      "rule": {
        "file": "zonekeep.yaml",
        "line": 10,
        "says": "shell rule 'git push *': ask"
      },
      "unparsed": null,
      "parts": [
        {
          "text": "git push",
          "words": [
            {
              "text": "git",
              "kind": "known"
            },
            {
              "text": "push",
              "kind": "known"
            }
          ],
          "within": [],
          "approval": "ask",
          "rule": {
            "file": "zonekeep.yaml",
            "line": 10,
            "says": "shell rule 'git push *': ask"
          },
          "why": [],
          "grants": "example.org"
        }
      ],
      "grants": "example.org",
      "network": "example.org",
      "change": {
        "text": "shell.rules: - { pattern: \"git push\", approval: preApproved, grants: { network: [\"example.org\"] } }",
        "rules": [
          {
            "file": "zonekeep.yaml",
            "line": 10,
            "place": "before",
            "rule": "{ pattern: \"git push\", approval: preApproved, grants: { network: [\"example.org\"] } }",
            "opens": "every command that starts with git push runs without a question, and reaches example.org, unless it does more than that says"
          }
        ],
        "edits": [],
        "flags": null
      }
    }
    "#);
}

#[test]
fn the_flags_to_try_work() {
    let project = project(SILENT);
    // line, flags, verdict, what is changed
    let cases: &[(&str, &[&str], &str, &[&str])] = &[
        ("cargo test", &[], "ask", &["shell.rules"]),
        ("git commit -m 'a b'; it\\'s x", &[], "ask", &["shell.rules", "shell.rules"]),
        (
            "ls | wc -l",
            &["--set", "shell={ mode: argv, presets: [read_only] }"],
            "deny",
            &["shell.mode"],
        ),
        (
            "ls",
            &["--set", "shell.presets=[read_only]", "--set", "sandbox.backend=none"],
            "ask",
            &["sandbox.backend"],
        ),
        (
            "ls",
            &["--set", "shell.presets=[read_only]", "--set", "approval.mode=manual"],
            "ask",
            &["approval.mode"],
        ),
        ("cargo test", &["--set", "approval.mode=strict"], "deny", &["shell.rules"]),
        (
            "cargo test",
            &["--set", "approval.mode=manual"],
            "ask",
            &["approval.mode", "shell.rules"],
        ),
        ("cargo test", &["--set", "tools=[read_file]"], "deny", &["tools", "shell.rules"]),
        (
            "cargo test",
            &["--set", "tool_rules.shell.allowed=false"],
            "deny",
            &["tool_rules.shell.allowed", "shell.rules"],
        ),
    ];
    for (line, flags, verdict, changed) in cases {
        let value = explain(&project, line, flags);
        assert_eq!(value["verdict"], *verdict, "{line} {flags:?}");
        let change = &value["change"];
        let edits = change["edits"].as_array().unwrap().iter();
        let keys = edits.map(|edit| edit["key"].as_str().unwrap());
        let rules = change["rules"].as_array().unwrap().iter().map(|_| "shell.rules");
        assert_eq!(keys.chain(rules).collect::<Vec<_>>(), *changed, "{line} {flags:?}");
        let given: Vec<String> = flags.iter().map(|flag| format!("'{flag}'")).collect();
        let proposed = change["flags"].as_str().unwrap();
        let script =
            format!("exec \"$0\" explain run \"$1\" --json {} {proposed}", given.join(" "));
        let mut shell = Command::new("sh");
        project.prepare(&mut shell);
        let run = project.finish(shell.args(["-c", &script]).arg(project.program()).arg(line));
        let again: Value = serde_json::from_str(run.ok()).unwrap();
        assert_eq!(again["verdict"], "allow", "{line} {flags:?} {proposed}");
    }
}

#[test]
fn what_no_narrow_rule_would_allow_has_no_change() {
    let project = project(CONFIG);
    for line in ["sh -c \"$x\"", "echo \"a", "python3 -c 'x'", "rm -rf x", "echo a > b"] {
        let value = explain(&project, line, &[]);
        assert_eq!(value["change"], Value::Null, "{line}");
        assert_ne!(value["verdict"], "allow", "{line}");
    }
    let unparsed = explain(&project, "echo \"a", &[]);
    assert_eq!(unparsed["unparsed"], "a quote without its end (at byte 7)");
    assert_eq!(unparsed["parts"], json!([]));
}

#[test]
fn a_worker_is_held_to_its_own_rules_too() {
    let project = project(CONFIG).file(
        "careful.worker",
        "---
name: careful
sandbox: { zones: [{ name: repo, mode: rw }] }
shell: { default: ask }
---
",
    );
    let run = project.zonekeep(["explain", "run", "ls", "--worker", "careful.worker"]);
    assert_snapshot!(run.to_string(), @"
    exit 0
    --- stdout
    run ls: asked about
      rule:    shell.default: ask (careful.worker:4)
      mode:    bash, from /repo, in an OS sandbox (assumed)
      network: none
      command: ls
        words: ls
        says:  ask
        rule:  shell.default: ask (careful.worker:4)
      change:  the project allows it: the file of worker 'careful' has to allow it too
    --- stderr
    ");
}

#[test]
fn where_it_starts_must_be_in_the_view() {
    let project = project(CONFIG);
    let value = explain(&project, "ls", &["--cwd", "/etc"]);
    assert_eq!((&value["verdict"], &value["code"]), (&json!("deny"), &json!("outside")));
    let commit = |cwd| explain(&project, "git commit x", &["--cwd", cwd])["verdict"].clone();
    assert_eq!((commit("/repo"), commit("/input")), (json!("allow"), json!("ask")));
}

#[test]
fn what_a_terminal_would_act_on_is_written_out() {
    let project = project(CONFIG);
    let run = project.zonekeep(["explain", "run", "echo 'a\u{202e}b'\n  allowed\t\u{1b}[2J"]);
    let text = run.ok();
    assert!(text.contains("\\u{202e}") && !text.contains(['\u{202e}', '\u{1b}']), "{run}");
    assert!(text.starts_with("run echo 'a\\u{202e}b'\\n  allowed"), "{run}");
}

#[test]
fn a_line_and_a_command_are_two_things() {
    let project = project(CONFIG);
    let cases: &[&[&str]] = &[
        &["explain", "run"],
        &["explain", "run", "ls", "--", "ls"],
        &["explain", "run", "--cwd", "/repo", "--", "ls"],
        &["explain", "read", "/repo/x", "--cwd", "/repo"],
    ];
    for args in cases {
        let run = project.zonekeep(*args);
        assert_eq!(run.exit, 2, "{args:?} {run}");
    }
}

#[test]
fn a_line_that_connects_to_hosts_that_are_not_listed() {
    let config = "sandbox:
  mode: direct
  zones:
    repo: { path: ./repo, mode: rw }
  network: { allow: [listed.example], deny: [no.example] }
shell: { default: contained }
";
    let project = Project::with_config(PROGRAM, config).dir("repo");
    project.zonekeep(["trust", "--yes"]).ok();
    let line = "curl -s https://one.example/x https://listed.example/; ssh two.example ls";
    assert_snapshot!(project.zonekeep(["explain", "run", line]).ok(), @r#"
    run curl -s https://one.example/x https://listed.example/; ssh two.example ls: asked about
      rule:    shell.default: contained: it connects to 'one.example', which sandbox.network does not list; a yes does not open it (zonekeep.yaml:6)
      mode:    bash, from /, in an OS sandbox (assumed)
      network: listed.example
      command: curl -s https://one.example/x https://listed.example/
        words: curl, -s, https://one.example/x, https://listed.example/
        says:  ask
        rule:  shell.default: contained: it connects to 'one.example', which sandbox.network does not list; a yes does not open it (zonekeep.yaml:6)
      command: ssh two.example ls
        words: ssh, two.example, ls
        says:  ask
        rule:  shell.default: contained: it connects to 'two.example', which sandbox.network does not list; a yes does not open it (zonekeep.yaml:6)
      command: ls
        words: ls
        in:    wrapper
        says:  preApproved
        rule:  shell.default: contained (zonekeep.yaml:6)
      change:  sandbox.network.allow: [listed.example, one.example, "two.example:22"]  (at zonekeep.yaml:5)
      opens:   every command can connect to ports 80 and 443 of one.example; every command can connect to port 22 of two.example
      to try:  zonekeep explain run 'curl -s https://one.example/x https://listed.example/; ssh two.example ls' --set 'sandbox.network.allow=[listed.example, one.example, "two.example:22"]'
    "#);
    let flags =
        ["--set", "sandbox.network.allow=[listed.example, one.example, \"two.example:22\"]"];
    let run = project.zonekeep(["explain", "run", line].iter().chain(&flags));
    assert!(run.ok().contains(": allowed"), "{run}");
}
