//! `zonekeep mcp` and rules that an agent can get at: they are not read again.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;
use std::time::Duration;

use crate::mcp_common::{Client, PROGRAM, all_ended, has_begun, mark, text};
use serde_json::{Value, json};
use zonekeep_testkit::{Project, eventually};

/// Longer than it takes to read a file again that has changed.
const LATER: Duration = Duration::from_millis(2_000);

fn has_changed(message: &Value) -> bool {
    message["method"] == "notifications/tools/list_changed"
}

/// Rules by which writing to `/keep` is asked about, or not.
fn rules(keep: &str) -> String {
    format!(
        "sandbox:
  mode: direct
  zones:
    conf: {{ path: ./conf, mode: rw, approval: {{ write: preApproved }} }}
    keep: {{ path: ./keep, mode: rw, approval: {{ write: {keep} }} }}
"
    )
}

fn keeps(client: &mut Client) -> bool {
    client.tool("write_file", json!({ "path": "/keep/x", "content": "x" }))["isError"] == true
}

#[test]
fn rules_that_lie_where_the_agent_can_write_are_not_taken() {
    let project = Project::with_config(PROGRAM, &rules("ask"))
        .file("conf/rules.yaml", rules("preApproved"))
        .dir("keep");
    let mut client = Client::open(&project, &[], &json!({}));
    assert!(keeps(&mut client));
    let file = project.path("zonekeep.yaml");
    fs::remove_file(&file).unwrap();
    let project = project.link("zonekeep.yaml", "conf/rules.yaml");
    assert!(client.within(LATER, has_changed).is_none());
    assert!(keeps(&mut client));
    eventually("what is said beside", || {
        client.said().contains("start the server again").then_some(())
    });
    assert_eq!(client.end(), Some(0));
    let run = project.zonekeep(["mcp"]);
    assert_eq!(run.exit, 125, "nor at the start: {run}");
    // The control: the same rules where nobody inside can write.
    fs::rename(project.path("conf/rules.yaml"), file).unwrap();
    let mut other = Client::open(&project, &[], &json!({}));
    assert!(!keeps(&mut other));
}

#[test]
fn a_worker_file_that_the_agent_can_write_is_not_read_again() {
    let worker =
        |zones: &str| format!("---\nname: reviewer\nsandbox:\n  zones: [{zones}]\n---\nReview.\n");
    let project = Project::with_config(PROGRAM, &rules("preApproved"))
        .file("conf/review.md", worker("{ name: conf, mode: rw }"))
        .dir("keep");
    let flags = ["--worker", "conf/review.md"];
    let mut client = Client::open(&project, &flags, &json!({}));
    assert!(keeps(&mut client));
    let wider = worker("{ name: conf, mode: rw }, { name: keep, mode: rw }");
    let wrote = client.tool("write_file", json!({ "path": "/conf/review.md", "content": wider }));
    assert_eq!(wrote["isError"], false, "{wrote}");
    assert!(client.within(LATER, has_changed).is_none());
    assert!(keeps(&mut client));
    assert_eq!(client.end(), Some(0));
    // The control: what it wrote would have been its grant.
    let mut other = Client::open(&project, &flags, &json!({}));
    assert!(!keeps(&mut other));
}

#[test]
fn a_directory_in_the_place_of_the_projects_is_not_read() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let rules = |path: &str, write: &str| {
        format!(
            "sandbox:
  mode: direct
  zones:
    all: {{ path: {path}, mode: rw, approval: {{ write: {write} }} }}
shell: {{ default: preApproved }}
"
        )
    };
    let project = Project::new(PROGRAM)
        .file("strict/zonekeep.yaml", rules("..", "ask"))
        .file("lax/zonekeep.yaml", rules(".", "preApproved"));
    project.zonekeep(["trust", "--yes", "--project", "strict"]).ok();
    let flags = ["--project", "strict"];
    let mut client = Client::open(&project, &flags, &json!({}));
    let write = json!({ "path": "/all/x", "content": "x" });
    assert_eq!(client.tool("write_file", write.clone())["isError"], true);
    let swap = json!({ "command": "cd /all && mv strict away && mv lax strict && ls" });
    let swapped = client.tool("shell", swap);
    assert!(text(&swapped).contains("away\nstrict\n"), "{swapped}");
    assert!(client.within(LATER, has_changed).is_none());
    assert_eq!(client.tool("write_file", write.clone())["isError"], true);
    assert_eq!(client.end(), Some(0));
    // The control: there are other rules in that place now.
    let mut other = Client::open(&project, &flags, &json!({}));
    assert_eq!(other.tool("write_file", write)["isError"], false);
}

#[test]
fn commands_that_could_write_the_rules_end_before_these_are_read() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let config = |mode: &str| {
        format!(
            "sandbox:
  mode: direct
  zones:
    all: {{ path: ., mode: {mode}, approval: {{ write: preApproved }} }}
shell: {{ default: preApproved }}
"
        )
    };
    let project = Project::with_config(PROGRAM, &config("rw"));
    let mark = mark();
    let mut client = Client::open(&project, &[], &json!({}));
    let job = json!({ "command": format!("sleep {mark}"), "background": true });
    assert_eq!(client.tool("shell", job)["isError"], false);
    has_begun(&mark, 1);
    project.put("zonekeep.yaml", config("ro"));
    client.wait_for("the news", has_changed);
    all_ended(&mark);
    let write = json!({ "path": "/all/x", "content": "x" });
    eventually("the rules of the user hold", || {
        let wrote = client.tool("write_file", write.clone());
        (wrote["isError"] == true).then_some(())
    });
    assert_eq!(client.end(), Some(0));
}
