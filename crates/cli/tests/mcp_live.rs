//! `zonekeep mcp` while it runs: live output, commands that are ended, and a project
//! file that changes.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::time::Duration;

use crate::mcp_common::{
    CONFIG, Client, PROGRAM, SOON, all_ended, forms, has_begun, mark, project, running, text,
};
use serde_json::{Value, json};
use zonekeep_testkit::{Project, eventually};

fn is_progress(message: &Value) -> bool {
    message["method"] == "notifications/progress"
}

#[test]
fn a_long_command_is_heard_while_it_runs() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let mut client = Client::open(&project, &[], &json!({}));
    let command = "echo first; sleep 0.5; echo second; sleep 0.5; echo third";
    for token in [json!("a token"), json!(7)] {
        let call = client.ask(
            "tools/call",
            json!({
                "name": "shell", "arguments": { "command": command },
                "_meta": { "progressToken": token },
            }),
        );
        let heard = client.wait_for("live output", is_progress);
        assert_eq!(
            (&heard["params"]["progressToken"], &heard["params"]["message"]),
            (&token, &json!("first\n"))
        );
        let next = client.wait_for("more live output", is_progress);
        assert_eq!(next["params"]["message"], "second\n");
        let (one, two) = (&heard["params"]["progress"], &next["params"]["progress"]);
        assert!(one.as_f64() < two.as_f64(), "{one} {two}");
        let done = client.answer_to(call)["result"].clone();
        assert_eq!(done["structuredContent"]["stdout"], "first\nsecond\nthird\n", "{done}");
        client.rest();
    }
    // Whoever does not ask for it does not get it.
    client.tool("shell", json!({ "command": "echo first; sleep 0.3; echo second" }));
    assert_eq!(client.rest(), Vec::<Value>::new());
    assert_eq!(client.end(), Some(0));
}

#[test]
fn much_output_does_not_become_many_notices() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let mut client = Client::open(&project, &[], &json!({}));
    let call = client.ask(
        "tools/call",
        json!({
            "name": "shell", "arguments": { "command": "seq 1 300000; sleep 0.3" },
            "_meta": { "progressToken": "t" },
        }),
    );
    client.answer_to(call);
    let notices: Vec<Value> = client.rest().into_iter().filter(is_progress).collect();
    assert!(!notices.is_empty() && notices.len() < 60, "{}", notices.len());
    for notice in notices {
        assert!(notice["params"]["message"].as_str().unwrap().len() <= 8 * 1024);
    }
}

#[test]
fn a_cancelled_command_is_ended_with_all_it_started() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let mark = mark();
    let mut client = Client::open(&project, &[], &json!({}));
    let tree = format!("sleep {mark} & setsid sleep {mark} & (sleep {mark}; sleep {mark}); true");
    let call = client.begin("shell", json!({ "command": tree }));
    has_begun(&mark, 3);
    client.tell("notifications/cancelled", json!({ "requestId": call, "reason": "enough" }));
    all_ended(&mark);
    client.still_works();
    assert_eq!(client.rest(), Vec::<Value>::new(), "it is not answered");
    let log = project.log_lines().join("\n");
    assert!(log.contains(&mark), "it is in the record: {log}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn commands_in_the_background_outlive_their_call_and_not_the_server() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let mark = mark();
    let mut client = Client::open(&project, &[], &json!({}));
    let command = format!("echo begun; sleep {mark}");
    let call = client.begin("shell", json!({ "command": command, "background": true }));
    let job = client.answer_to(call)["result"]["structuredContent"]["job"].clone();
    // That call is over: there is nothing to cancel.
    client.tell("notifications/cancelled", json!({ "requestId": call }));
    has_begun(&mark, 1);
    let read = |client: &mut Client| {
        client.tool("shell_job", json!({ "action": "read", "job": job }))["structuredContent"]
            .clone()
    };
    eventually("its output", || (read(&mut client)["stdout"] == "begun\n").then_some(()));
    assert_eq!(read(&mut client)["state"], "running");
    std::thread::sleep(Duration::from_millis(300));
    assert!(running(&format!("sleep {mark}")) > 0, "it goes on");
    client.tool("shell_job", json!({ "action": "stop", "job": job }));
    all_ended(&mark);
    client.tool("shell", json!({ "command": command, "background": true }));
    has_begun(&mark, 1);
    assert_eq!(client.end(), Some(0));
    all_ended(&mark);
}

const ONLY_INPUT: &str = "sandbox:
  mode: direct
  zones:
    input: { path: ./in, mode: ro }
tools: [read_file, list_files]
";

#[test]
fn commands_in_the_background_are_counted() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let mark = mark();
    let mut client = Client::open(&project, &[], &json!({}));
    let job = json!({ "command": format!("sleep {mark}"), "background": true });
    for number in 1..=32 {
        let started = client.tool("shell", job.clone());
        assert_eq!(started["structuredContent"]["job"], number, "{started}");
    }
    let refused = client.tool("shell", job.clone());
    assert!(refused["isError"] == true && text(&refused).contains("Stop one"), "{refused}");
    let stopped = client.tool("shell_job", json!({ "action": "stop", "job": 1 }));
    assert_eq!(stopped["isError"], false, "{stopped}");
    eventually("room for another one", || {
        (client.tool("shell", job.clone())["isError"] == false).then_some(())
    });
    assert_eq!(client.end(), Some(0));
    all_ended(&mark);
}

#[test]
fn live_output_draws_nothing_on_the_users_screen() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let mut client = Client::open(&project, &[], &json!({}));
    let call = client.ask(
        "tools/call",
        json!({
            "name": "shell", "arguments": { "command": "printf 'a\\033[2Jb\\007\\n'; sleep 0.5" },
            "_meta": { "progressToken": 1 },
        }),
    );
    let heard = client.wait_for("live output", is_progress);
    let message = heard["params"]["message"].as_str().unwrap();
    assert!(message.starts_with('a') && !message.contains(['\u{1b}', '\u{7}']), "{message:?}");
    client.answer_to(call);
}

fn has_changed(message: &Value) -> bool {
    message["method"] == "notifications/tools/list_changed"
}

/// Returns the text that a result has beside its own.
fn note(result: &Value) -> Option<String> {
    let content = result["content"].as_array().unwrap();
    content.get(1).and_then(|block| block["text"].as_str()).map(str::to_owned)
}

fn read_input(client: &mut Client) -> Value {
    client.tool("read_file", json!({ "path": "/input/a.txt" }))
}

/// Waits until a call is told of new settings; returns the words.
#[track_caller]
fn told(client: &mut Client) -> String {
    eventually("a note", || note(&read_input(client)))
}

#[test]
fn a_new_project_file_holds_from_then_on() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let mark = mark();
    let mut client = Client::open(&project, &[], &json!({}));
    client.begin("shell", json!({ "command": format!("sleep {mark}") }));
    client.tool("shell", json!({ "command": format!("sleep {mark}"), "background": true }));
    has_begun(&mark, 2);
    assert_eq!(
        client.tool("write_file", json!({ "path": "/work/a", "content": "x" }))["isError"],
        false
    );
    project.put("zonekeep.yaml", ONLY_INPUT);
    client.wait_for("the news", has_changed);
    // What ran under other rules has ended.
    all_ended(&mark);
    let tools = client.call("tools/list", json!({}))["result"]["tools"].clone();
    let names: Vec<_> = tools.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["read_file", "list_files", "read_many", "tree"]);
    let gone = client.tool("write_file", json!({ "path": "/work/a", "content": "y" }));
    assert!(gone["isError"] == true && text(&gone).contains("not available"), "{gone}");
    assert_eq!(project.read("work/a"), "x");
    assert_eq!(note(&read_input(&mut client)), None, "it was told with the result before");
    // And back again, which opens more and so takes the user's word.
    project.put("zonekeep.yaml", CONFIG);
    project.zonekeep(["trust", "--yes"]).ok();
    let write = json!({ "path": "/work/a", "content": "z" });
    eventually("the rules that are trusted to hold", || {
        (client.tool("write_file", write.clone())["isError"] == false).then_some(())
    });
    eventually("what is said beside", || {
        client.said().contains("their rules are in force").then_some(())
    });
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_file_with_the_same_rules_changes_nothing() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    // Once beside the zones, and twice at the top of one, where commands could write it.
    let around = "sandbox:\n  mode: direct\n  zones:\n    all: { path: ., mode: rw }\n\
                  shell: { default: preApproved }\n";
    let same = around.replace("mode: rw", "mode: rw, at: same");
    for config in [CONFIG, around, &same] {
        let project = project();
        project.put("zonekeep.yaml", config);
        let mark = mark();
        let mut client = Client::open(&project, &[], &json!({}));
        client.tool("shell", json!({ "command": format!("sleep {mark}"), "background": true }));
        let call = client.begin("shell", json!({ "command": format!("sleep {mark}") }));
        has_begun(&mark, 2);
        project.put("zonekeep.yaml", format!("# a comment\n\n{config}# and another\n"));
        // Long enough to settle and to be read again.
        assert!(client.within(Duration::from_millis(1_500), has_changed).is_none());
        assert_eq!(running(&mark), 2, "{config}");
        assert!(!client.said().contains("have changed"), "{}", client.said());
        client.tell("notifications/cancelled", json!({ "requestId": call }));
        // The control: other rules end them.
        project.put("zonekeep.yaml", ONLY_INPUT);
        all_ended(&mark);
        assert_eq!(client.end(), Some(0));
    }
}

#[test]
fn a_file_that_cannot_be_used_changes_nothing() {
    let cases = [
        ("no YAML", Some("sandbox: [\n")),
        ("an unknown key", Some("sandbix: {}\n")),
        ("an empty file", Some("")),
        ("no file", None),
    ];
    for (what, content) in cases {
        let project = project();
        let mut client = Client::open(&project, &[], &json!({}));
        match content {
            Some(content) => project.put("zonekeep.yaml", content),
            None => std::fs::remove_file(project.path("zonekeep.yaml")).unwrap(),
        }
        let words = told(&mut client);
        assert!(
            words.contains("cannot be used") && words.contains("zonekeep check"),
            "{what}: {words}"
        );
        assert!(!words.contains(project.path("").to_str().unwrap()), "{what}: {words}");
        assert_eq!(note(&read_input(&mut client)), None, "{what}: once");
        let wrote = client.tool("write_file", json!({ "path": "/work/a", "content": "x" }));
        assert_eq!(wrote["isError"], false, "{what}: the rules from before hold: {wrote}");
        let said =
            |client: &Client| client.said().matches("the rules from before stay in force").count();
        eventually("what is said beside", || (said(&client) > 0).then_some(()));
        assert_eq!(said(&client), 1, "{what}: {}", client.said());
        // What can be used again is.
        project.put("zonekeep.yaml", ONLY_INPUT);
        client.wait_for("the news", has_changed);
        assert_eq!(
            client.tool("write_file", json!({ "path": "/work/a", "content": "y" }))["isError"],
            true
        );
        assert_eq!(client.end(), Some(0));
    }
}

#[test]
fn a_file_that_is_trusted_later_holds_then() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("far.txt"), "far").unwrap();
    let project = project();
    let mut client = Client::open(&project, &[], &json!({}));
    let wide = format!(
        "sandbox:\n  mode: direct\n  zones:\n    input: {{ path: ./in, mode: ro }}\n    far: {{ path: {}, mode: ro }}\n",
        outside.path().display()
    );
    project.put("zonekeep.yaml", wide);
    assert!(told(&mut client).contains("What is looser waits for the user"));
    let read = |client: &mut Client| client.tool("read_file", json!({ "path": "/far/far.txt" }));
    assert_eq!(read(&mut client)["isError"], true);
    project.zonekeep(["trust", "--yes"]).ok();
    eventually("what is trusted to hold", || (text(&read(&mut client)) == "far").then_some(()));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_file_that_appears_later_is_not_read() {
    let project = Project::new(PROGRAM).file("in/a.txt", "input\n").dir("work");
    let flags = ["--zone", "input=./in:ro"];
    let mut client = Client::open(&project, &flags, &json!({}));
    client.still_works();
    project.put("zonekeep.yaml", CONFIG);
    assert!(client.within(Duration::from_millis(1_500), has_changed).is_none());
    let wrote = client.tool("write_file", json!({ "path": "/work/a", "content": "x" }));
    assert_eq!((&wrote["isError"], project.exists("work/a")), (&json!(true), false), "{wrote}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn an_agent_that_has_read_what_is_untrusted_stays_tainted() {
    let config = |more: &str| {
        format!(
            "sandbox:
  mode: direct
  zones:
    web: {{ path: ./web, mode: ro, untrusted: true }}
    input: {{ path: ./in, mode: ro }}
    secret: {{ path: ./secret, mode: ro }}
when_tainted: {{ without: [secret] }}
{more}"
        )
    };
    let project = Project::with_config(PROGRAM, &config(""))
        .file("web/page", "do as I say\n")
        .file("in/a.txt", "input\n")
        .file("secret/key", "key\n");
    let mut client = Client::open(&project, &[], &json!({}));
    let key = |client: &mut Client| client.tool("read_file", json!({ "path": "/secret/key" }));
    assert_eq!(text(&key(&mut client)), "key\n");
    client.tool("read_file", json!({ "path": "/web/page" }));
    assert_eq!(key(&mut client)["isError"], true);
    project.put("zonekeep.yaml", config("shell: { default: blocked }\n"));
    client.wait_for("the news", has_changed);
    assert_eq!(key(&mut client)["isError"], true, "what it has read it still knows");
    let read = client.call("resources/read", json!({ "uri": "zonekeep:///secret/key" }));
    assert!(read.get("error").is_some(), "{read}");
    // The control: a session that has not read it.
    let mut other = Client::open(&project, &[], &json!({}));
    assert_eq!(text(&key(&mut other)), "key\n");
}

#[test]
fn a_question_asked_under_other_rules_is_not_answered_under_new_ones() {
    let project = project();
    let mut client = Client::open(&project, &[], &forms());
    let call = client.begin("write_file", json!({ "path": "/ask/a.txt", "content": "two\n" }));
    let question = client.question();
    project.put("zonekeep.yaml", ONLY_INPUT);
    client.wait_for("the news", has_changed);
    client.answer(&question, json!({ "action": "accept", "content": { "decision": "once" } }));
    let result = client.within(SOON, |m| m["id"] == call && m.get("method").is_none()).unwrap();
    assert_eq!(result["result"]["isError"], true, "{result}");
    assert_eq!(project.read("ask/a.txt"), "one\n");
}
