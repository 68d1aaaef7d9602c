//! `zonekeep mcp` and files that change to looser rules while it runs: what is stricter
//! holds at once, the rest waits for the user.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;

use crate::mcp_common::{Client, PROGRAM, text};
use serde_json::{Value, json};
use zonekeep_testkit::{Project, eventually};

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    ask: { path: ./ask, mode: rw, approval: { write: ask } }
    work: { path: ./work, mode: rw, approval: { write: preApproved } }
    input: { path: ./in, mode: ro }
";

fn project(config: &str) -> Project {
    Project::with_config(PROGRAM, config).dir("ask").dir("work").file("in/a.txt", "input\n")
}

fn write(client: &mut Client, path: &str) -> Value {
    client.tool("write_file", json!({ "path": path, "content": "x" }))
}

fn writes(client: &mut Client, path: &str) -> bool {
    write(client, path)["isError"] == false
}

/// Waits until the server has read its files again.
#[track_caller]
fn read_again(client: &Client, says: &str) {
    eventually("the files to be read again", || client.said().contains(says).then_some(()));
}

const WAITS: &str = "what may be looser waits for `zonekeep trust` or a new start: ";

#[test]
fn what_is_looser_waits_and_what_is_stricter_holds_at_once() {
    let project = project(CONFIG);
    let mut client = Client::open(&project, &[], &json!({}));
    assert!(writes(&mut client, "/work/a") && !writes(&mut client, "/ask/a"));
    // As a checkout of a branch would do it.
    let branch = CONFIG
        .replace("write: ask", "write: preApproved")
        .replace("path: ./work, mode: rw", "path: ./work, mode: ro")
        .replace("path: ./in, mode: ro", "path: ./in, mode: rw");
    project.put("zonekeep.yaml", &branch);
    read_again(&client, WAITS);
    let said = client.said();
    for key in [
        "sandbox.zones.ask.approval.write (zonekeep.yaml:4)",
        "sandbox.zones.input.mode (zonekeep.yaml:6)",
    ] {
        assert!(said.contains(key), "{said}");
    }
    assert!(!said.contains("zones.work"), "{said}");
    let refused = write(&mut client, "/ask/b");
    let note = refused["content"].to_string();
    assert!(note.contains("What is looser waits for the user"), "{note}");
    assert!(!note.contains("zones.") && !note.contains(project.path("").to_str().unwrap()));
    assert!(!writes(&mut client, "/ask/b") && !writes(&mut client, "/input/b"));
    let refused = write(&mut client, "/work/b");
    assert!(text(&refused).contains("path is read-only"), "what is stricter holds: {refused}");
    // The user's word.
    project.zonekeep(["trust", "--yes"]).ok();
    eventually("what is trusted to hold", || writes(&mut client, "/ask/b").then_some(()));
    assert!(!writes(&mut client, "/work/b"));
    read_again(&client, "their rules are in force");
    // Back to what was trusted never, and was tightened since.
    project.put("zonekeep.yaml", CONFIG);
    eventually("the question", || (!writes(&mut client, "/ask/c")).then_some(()));
    assert!(!writes(&mut client, "/work/c"));
    assert_eq!(client.end(), Some(0));
    // The control: a server that is started with the file takes it.
    let mut other = Client::open(&project, &[], &json!({}));
    assert!(writes(&mut other, "/work/c") && !writes(&mut other, "/ask/c"));
}

#[test]
fn commands_go_on_while_what_is_looser_waits() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let apart = format!("{CONFIG}shell: {{ default: contained }}\n");
    // The file at the top of a zone that commands can write.
    let near = "sandbox:
  mode: direct
  zones:
    work: { path: ., mode: rw, approval: { write: ask } }
shell: { default: contained }
";
    for config in [&apart, near] {
        let project = project(config);
        let mut client = Client::open(&project, &[], &json!({}));
        let line = "cd /work; touch begun; until [ -e go ]; do sleep 0.05; done; echo went on";
        let call = client.begin("shell", json!({ "command": line }));
        let dir = if config == near { "" } else { "work/" };
        eventually("the command", || project.exists(&format!("{dir}begun")).then_some(()));
        project.put("zonekeep.yaml", config.replace("write: ask", "write: preApproved"));
        read_again(&client, WAITS);
        assert!(!client.said().contains("What is stricter"), "{}", client.said());
        project.put(&format!("{dir}go"), "");
        let result = client.answer_to(call)["result"].clone();
        assert!(text(&result).contains("went on"), "{result}");
        assert!(result["content"].to_string().contains("What is looser waits"), "{result}");
        assert_eq!(client.end(), Some(0));
    }
}

#[test]
fn trust_shows_what_a_running_server_withholds_and_asks() {
    // Stricter than the defaults, so that only the server knows what is looser.
    let strict = format!("{CONFIG}shell: {{ default: blocked }}\n");
    let branch = strict.replace("write: ask", "write: preApproved").replace("blocked", "ask");
    let project = project(&strict);
    let mut client = Client::open(&project, &[], &json!({}));
    assert!(!writes(&mut client, "/ask/a"));
    project.put("zonekeep.yaml", &branch);
    read_again(&client, WAITS);
    let run = project.zonekeep(["trust"]);
    assert!(run.exit == 125 && run.stderr.contains("there is no terminal to ask on"), "{run}");
    let list = run.stdout.split("Running servers withhold until you trust it:\n").nth(1);
    let list = list.unwrap_or_else(|| panic!("{run}"));
    let withheld: Vec<&str> = list.lines().take_while(|line| line.starts_with("  ")).collect();
    let both =
        ["  sandbox.zones.ask.approval.write (zonekeep.yaml:4)", "  shell (zonekeep.yaml:7)"];
    assert_eq!(withheld, both, "{run}");
    assert!(!project.state().join("zonekeep/trusted").exists(), "nothing was accepted");
    assert!(!writes(&mut client, "/ask/b"));
    // The user's word, and nothing is withheld any more.
    project.zonekeep(["trust", "--yes"]).ok();
    eventually("what is trusted to hold", || writes(&mut client, "/ask/b").then_some(()));
    let notes = std::fs::read_dir(project.state().join("zonekeep/withheld")).unwrap();
    assert_eq!(notes.count(), 0);
    assert!(
        project.zonekeep(["trust"]).ok().contains("nowhere looser than those you have trusted")
    );
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_file_that_is_no_looser_than_the_defaults_waits_where_a_server_is_stricter() {
    let strict = "shell: { default: blocked }\n";
    let project = Project::with_config(PROGRAM, strict);
    let client = Client::open(&project, &[], &json!({}));
    project.put("zonekeep.yaml", "shell: { default: ask }\n");
    read_again(&client, WAITS);
    let run = project.zonekeep(["trust"]);
    assert!(run.exit == 125 && run.stdout.contains("Running servers withhold"), "{run}");
}

#[test]
fn a_file_that_opens_less_than_was_trusted_needs_no_trust() {
    let outside = tempfile::tempdir().unwrap();
    let far = |mode: &str| {
        let path = outside.path().display();
        format!(
            "{CONFIG}    far: {{ path: {path}, mode: {mode}, approval: {{ write: preApproved }} }}\n"
        )
    };
    let project = project(&far("rw"));
    project.zonekeep(["trust", "--yes"]).ok();
    let mut client = Client::open(&project, &[], &json!({}));
    assert!(writes(&mut client, "/far/a"));
    project.put("zonekeep.yaml", far("ro"));
    read_again(&client, "their rules are in force");
    assert!(!writes(&mut client, "/far/a") && writes(&mut client, "/work/a"));
    // Not so where something else is behind the name.
    fs::remove_dir(project.path("work")).unwrap_or_else(|_| {
        fs::remove_dir_all(project.path("work")).unwrap();
    });
    std::os::unix::fs::symlink(outside.path(), project.path("work")).unwrap();
    project.put("zonekeep.yaml", far("ro").replace("write: ask", "write: blocked"));
    read_again(&client, "cannot be used; the rules from before stay in force");
    assert!(!writes(&mut client, "/work/b") && !outside.path().join("b").exists());
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_worker_file_that_asks_for_more_waits_for_a_new_start() {
    let worker = |zones: &str| format!("---\nname: w\nsandbox:\n  zones: [{zones}]\n---\nWork.\n");
    let both = "{ name: work, mode: rw }, { name: input, mode: ro }";
    let project = project(CONFIG).file("w.worker", worker(both));
    let flags = ["--worker", "w.worker"];
    let mut client = Client::open(&project, &flags, &json!({}));
    assert!(writes(&mut client, "/work/a"));
    // Less holds at once.
    project.put("w.worker", worker(&both.replace("rw", "ro")));
    eventually("the worker to have less", || (!writes(&mut client, "/work/b")).then_some(()));
    // More does not.
    let said = client.said().matches(WAITS).count();
    project.put("w.worker", worker(&format!("{both}, {{ name: ask, mode: rw }}")));
    eventually("the files to be read again", || {
        (client.said().matches(WAITS).count() > said).then_some(())
    });
    assert!(client.said().contains("the worker file"), "{}", client.said());
    assert!(!writes(&mut client, "/work/b"));
    let ask = write(&mut client, "/ask/b");
    assert!(text(&ask).contains("outside sandbox"), "{ask}");
    assert_eq!(client.end(), Some(0));
    let mut other = Client::open(&project, &flags, &json!({}));
    assert!(writes(&mut other, "/work/b"));
}
