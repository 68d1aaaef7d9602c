//! On every door, a yes is for the content that the question showed.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::mcp_common::{Client, PROGRAM, forms, text};
use serde_json::{Value, json};
use zonekeep_testkit::{Project, Typed, skip};

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    free: { path: ./free, mode: rw, approval: { write: preApproved, delete: preApproved } }
    ask: { path: ./ask, mode: rw, approval: { write: ask, delete: ask } }
";

const CHANGED: &str = "changed while the question was open.";

fn project() -> Project {
    Project::with_config(PROGRAM, CONFIG).file("free/a", "harmless\n").file("ask/b", "one\n")
}

/// Makes a program that swaps the source while it is asked, and says yes.
fn swapping(project: &Project, swap: &str) -> String {
    let path = project.path("approver");
    let base = project.path("");
    let text = format!(
        "#!/bin/sh\ncat > /dev/null\ncd '{}' || exit 1\n{swap}\necho '{{\"approved\": true}}'\n",
        base.display()
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Calls that carry the content of `free/a` to `ask/new`, and a way to swap it.
fn relocations() -> [(&'static str, Value); 2] {
    let arguments = json!({ "source": "/free/a", "destination": "/ask/new" });
    ["copy_file", "move_file"].map(|tool| (tool, arguments.clone()))
}

const SWAPS: [&str; 3] = [
    "echo harmful! > free/a",
    "echo harmful! > free/other; mv free/other free/a",
    "chmod +x free/a",
];

#[test]
fn a_program_that_swaps_the_source_approves_nothing() {
    for (tool, arguments) in relocations() {
        for swap in SWAPS {
            let project = project();
            let approver = swapping(&project, swap);
            let arguments = arguments.to_string();
            let run = project.zonekeep(["tool", tool, &arguments, "--approve", &approver]);
            assert!(run.exit == 1 && run.stderr.contains(CHANGED), "{tool}, {swap}: {run}");
            assert!(!project.exists("ask/new"), "{tool}, {swap}");
            // The control: without the swap the same yes counts.
            let project = self::project();
            let approver = swapping(&project, ":");
            project.zonekeep(["tool", tool, &arguments, "--approve", &approver]).ok();
            assert_eq!(project.read("ask/new"), "harmless\n", "{tool}");
        }
    }
}

#[test]
fn a_program_that_swaps_what_is_replaced_approves_nothing() {
    let cases = [
        ("write_file", json!({ "path": "/ask/b", "content": "two\n" })),
        ("write_file", json!({ "path": "/ask/b", "content": "two\n", "append": true })),
        ("edit_file", json!({ "path": "/ask/b", "old_string": "one", "new_string": "two" })),
        ("copy_file", json!({ "source": "/free/a", "destination": "/ask/b", "overwrite": true })),
    ];
    for (tool, arguments) in cases {
        let project = project();
        let approver = swapping(&project, "echo 'one; rm -rf /' > ask/b");
        let run = project.zonekeep(["tool", tool, &arguments.to_string(), "--approve", &approver]);
        assert!(run.exit == 1 && run.stderr.contains(CHANGED), "{tool}: {run}");
        assert_eq!(project.read("ask/b"), "one; rm -rf /\n", "{tool}");
        let project = self::project();
        let approver = swapping(&project, ":");
        project.zonekeep(["tool", tool, &arguments.to_string(), "--approve", &approver]).ok();
        assert_ne!(project.read("ask/b"), "one\n", "{tool}");
    }
}

#[test]
fn a_source_that_is_swapped_before_the_person_answers_does_not_arrive() {
    for (tool, arguments) in relocations() {
        let project = project();
        let arguments = arguments.to_string();
        let Some(mut terminal) = project.zonekeep_at_terminal(["tool", tool, &arguments]) else {
            return skip("no terminal can be made here");
        };
        terminal.wait_for("zonekeep> ");
        project.put("free/a", "harmful!\n");
        terminal.type_in("y\n");
        let (exit, screen, _) = terminal.end();
        assert_eq!(exit, 1, "{tool}: {screen}");
        assert!(!project.exists("ask/new"), "{tool}: {screen}");
    }
}

#[test]
fn over_mcp_a_source_that_is_swapped_is_asked_about_again_or_refused() {
    for (tool, arguments) in relocations() {
        // A form that the client shows: the answer is for another question by then.
        let project = project();
        project.put("free/a", vec![b'x'; 5 << 20]);
        let mut client = Client::open(&project, &[], &forms());
        let call = client.begin(tool, arguments.clone());
        let yes = json!({ "action": "accept", "content": { "decision": "once" } });
        let question = client.question();
        // As long, and too large to be shown: only its hash tells.
        project.put("free/a", vec![b'y'; 5 << 20]);
        client.answer(&question, yes.clone());
        let again = client.question();
        assert!(!project.exists("ask/new"), "{tool}");
        assert_ne!(question["params"]["message"], again["params"]["message"], "{tool}");
        client.answer(&again, yes);
        assert_eq!(client.answer_to(call)["result"]["isError"], false, "{tool}");
        assert!(fs::read(project.path("ask/new")).unwrap() == vec![b'y'; 5 << 20], "{tool}");
        drop(client);
        // A program that answers for the server.
        for swap in SWAPS {
            let project = self::project();
            let approver = swapping(&project, swap);
            let mut client = Client::open(&project, &["--approve", &approver], &json!({}));
            let said = client.tool(tool, arguments.clone());
            assert!(said["isError"] == true && text(&said).contains(CHANGED), "{tool}: {said}");
            assert!(!project.exists("ask/new"), "{tool}");
        }
    }
}

#[test]
fn a_worker_does_not_get_a_swapped_source_past_its_question() {
    for (tool, arguments) in relocations() {
        let project = project();
        let replies = json!({ "main": [{ "calls": [{ tool: arguments }] }, { "say": "done" }] });
        project.put("replies.yaml", replies.to_string());
        project.put("main.worker", "---\nname: main\nsandbox: { zones: all }\n---\nDo it.\n");
        let approver = swapping(&project, SWAPS[0]);
        let flags = ["--model", "scripted:replies.yaml", "--approve", &approver];
        let run = project.zonekeep(["work", "main", "go"].iter().chain(&flags));
        assert_eq!(run.exit, 0, "{run}");
        assert!(!project.exists("ask/new"), "{tool}: {run}");
        let log = project.log_lines().join("\n");
        assert!(log.contains(r#""code":"changed""#), "{tool}: {log}");
    }
}

#[test]
fn the_question_about_a_copy_shows_that_it_can_be_executed() {
    let project = project();
    fs::set_permissions(project.path("free/a"), fs::Permissions::from_mode(0o755)).unwrap();
    for (tool, arguments) in relocations() {
        let arguments = arguments.to_string();
        let steps = [("zonekeep> ", "n\n"), ("note to the agent", "\n")];
        let typed = project.zonekeep_typed(["tool", tool, &arguments], &steps);
        let Some(Typed { screen, .. }) = typed else { return skip("no terminal can be made here") };
        assert!(screen.contains("\n  executable: true\n"), "{screen}");
    }
}

#[test]
fn a_long_question_ends_with_its_head() {
    let project = project();
    let content = "line\n".repeat(150);
    let arguments = json!({ "path": "/ask/b", "content": content }).to_string();
    let steps = [("zonekeep> ", "n\n"), ("note to the agent", "\n")];
    let Some(Typed { screen, .. }) =
        project.zonekeep_typed(["tool", "write_file", &arguments], &steps)
    else {
        return skip("no terminal can be made here");
    };
    let before = screen.split("zonekeep> ").next().unwrap();
    assert_eq!(before.lines().last(), Some("  The agent wants to write '/ask/b'"), "{screen}");
    assert!(before.lines().filter(|line| line.contains("wants to write")).count() == 2);
}
