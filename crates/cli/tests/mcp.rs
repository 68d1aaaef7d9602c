//! `zonekeep mcp` on standard input and output: its tools, and who is asked.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::os::unix::fs::DirBuilderExt;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use crate::mcp_common::{Client, forms, meta, project, text};
use serde_json::{Value, json};
use zonekeep_testkit::{Project, eventually, skip};

/// A picture of one pixel.
const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\
    \0\0\0\rIDATx\x9cc\xf8\xff\xff?\0\x05\xfe\x02\xfe\xa75\x81\x84\0\0\0\0IEND\xaeB`\x82";

fn writes(content: &str) -> Value {
    json!({ "path": "/ask/a.txt", "content": content })
}

#[test]
fn both_eras_get_the_same_tools_with_all_that_is_known_of_them() {
    let project = project().file("in/dot.png", PNG);
    let mut client = Client::open(&project, &[], &json!({}));
    let old = client.call("tools/list", json!({}))["result"]["tools"].clone();
    let new = client.call("tools/list", json!({ "_meta": meta(&json!({})) }));
    assert_eq!(new["result"]["tools"], old);
    for tool in old.as_array().unwrap() {
        let (hints, text) = (&tool["annotations"], tool.to_string());
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(hints[hint].is_boolean(), "{hint}: {text}");
        }
        assert!(tool["title"].is_string() && tool["description"].is_string(), "{text}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{text}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{text}");
        assert!(
            !text.contains("/input") && !text.contains("/ask"),
            "no directory is named: {text}"
        );
    }
    let names: Vec<_> = old.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    for name in ["read_file", "write_file", "list_files", "shell", "shell_job"] {
        assert!(names.contains(&&json!(name)), "{name} in {names:?}");
    }
    let root = client.tool("list_files", json!({ "path": "/" }));
    assert!(text(&root).contains("input"), "{root}");
    let read = client.tool("read_file", json!({ "path": "/input/a.txt" }));
    assert_eq!(
        (&read["isError"], text(&read), &read["structuredContent"]["content"]),
        (&json!(false), "input\n", &json!("input\n"))
    );
    let image = client.tool("read_file", json!({ "path": "/input/dot.png" }));
    let picture = &image["content"][1];
    assert_eq!((&picture["type"], &picture["mimeType"]), (&json!("image"), &json!("image/png")));
    assert!(picture["data"].as_str().unwrap().starts_with("iVBORw0KGgo"), "{image}");
    let missing = client.tool("read_file", json!({ "path": "/input/none" }));
    assert_eq!(
        (&missing["isError"], text(&missing)),
        (&json!(true), "Cannot read '/input/none': no such file.")
    );
    assert_eq!(missing.get("structuredContent"), None, "errors have another form");
    assert_eq!(missing["_meta"]["zonekeep/error"]["code"], "not_found");
    let unknown = client.tool("no_tool", json!({}));
    assert!(
        unknown["isError"] == true && text(&unknown).contains("Available tools: "),
        "{unknown}"
    );
    let wrong = client.tool("read_file", json!({ "file": "/input/a.txt" }));
    assert!(wrong["isError"] == true && text(&wrong).contains("file"), "{wrong}");
    assert_eq!(client.end(), Some(0));
}

/// What a client answers to a question, whether that is a yes, and what the agent
/// reads then.
fn answers() -> Vec<(Value, bool, &'static str)> {
    let accept = |content: Value| json!({ "action": "accept", "content": content });
    let undecided = "without a decision of the user's";
    vec![
        (accept(json!({ "decision": "once" })), true, "Replaced"),
        (accept(json!({ "decision": "once", "note": "fine" })), true, "Replaced"),
        (accept(json!({ "decision": "deny" })), false, "the user declined"),
        (accept(json!({ "decision": "deny", "note": "later" })), false, "Their note: later"),
        (accept(json!({ "decision": "pattern" })), false, "the user declined"),
        (accept(json!({ "decision": "yes" })), false, undecided),
        (accept(json!({ "decision": true })), false, undecided),
        (accept(json!({ "decision": ["once"] })), false, undecided),
        (accept(json!({ "Decision": "once" })), false, undecided),
        (accept(json!({ "note": "once" })), false, undecided),
        (accept(json!({})), false, undecided),
        (accept(Value::Null), false, undecided),
        (json!({ "action": "accept" }), false, undecided),
        (json!({ "action": "decline" }), false, "the user declined"),
        (json!({ "action": "cancel" }), false, "the user declined"),
        (json!({ "action": "decline", "content": { "decision": "once" } }), false, "declined"),
    ]
}

#[test]
fn a_client_of_the_older_era_is_asked_while_the_call_waits() {
    let project = project();
    let mut client = Client::open(&project, &[], &forms());
    for (answer, yes, says) in answers() {
        project.put("ask/a.txt", "one\n");
        let call = client.begin("write_file", writes("two\n"));
        let question = client.question();
        let (asked, schema) =
            (&question["params"]["message"], &question["params"]["requestedSchema"]);
        for part in ["wants to write '/ask/a.txt'", "zonekeep.yaml:4", "-one", "+two"] {
            assert!(asked.as_str().unwrap().contains(part), "{part} in {asked}");
        }
        assert_eq!(schema["required"], json!(["decision"]));
        assert_eq!(schema["properties"]["decision"]["enum"], json!(["deny", "once", "session"]));
        assert_eq!(project.read("ask/a.txt"), "one\n", "nothing is done before the answer");
        client.answer(&question, answer.clone());
        let result = client.answer_to(call)["result"].clone();
        assert_eq!(result["isError"], !yes, "{answer}: {result}");
        assert!(text(&result).contains(says), "{answer}: {result}");
        assert_eq!(project.read("ask/a.txt"), if yes { "two\n" } else { "one\n" }, "{answer}");
    }
    // Answers that are none.
    for broken in [
        json!({ "result": 7 }),
        json!({ "result": { "action": "agree" } }),
        json!({ "error": { "code": -1, "message": "cannot" } }),
    ] {
        let call = client.begin("write_file", writes("three\n"));
        let mut message = broken.clone();
        message["jsonrpc"] = json!("2.0");
        message["id"] = client.question()["id"].clone();
        client.send(&message);
        let result = client.answer_to(call)["result"].clone();
        assert!(text(&result).contains("the client did not answer"), "{broken}: {result}");
    }
    // An answer for the session holds for it, and for this file alone.
    let call = client.begin("write_file", writes("four\n"));
    let question = client.question();
    client.answer(&question, json!({ "action": "accept", "content": { "decision": "session" } }));
    assert_eq!(client.answer_to(call)["result"]["isError"], false);
    assert_eq!(client.tool("write_file", writes("five\n"))["isError"], false);
    let other = client.begin("write_file", json!({ "path": "/ask/b.txt", "content": "b" }));
    let question = client.question();
    client.answer(&question, json!({ "action": "decline" }));
    assert_eq!(client.answer_to(other)["result"]["isError"], true);
    assert_eq!((project.read("ask/a.txt"), project.exists("ask/b.txt")), ("five\n".into(), false));
    assert_eq!(client.rest(), Vec::<Value>::new());
    assert_eq!(client.end(), Some(0));
}

#[test]
fn commands_can_be_allowed_by_a_pattern() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let mut client = Client::open(&project, &[], &json!({ "elicitation": {} }));
    let call = client.begin("shell", json!({ "command": "git push origin main" }));
    let question = client.question();
    let decision = &question["params"]["requestedSchema"]["properties"]["decision"];
    assert_eq!(decision["enum"], json!(["deny", "once", "session", "pattern"]));
    client.answer(&question, json!({ "action": "accept", "content": { "decision": "pattern" } }));
    assert_eq!(client.answer_to(call)["result"]["isError"], false);
    assert_eq!(client.tool("shell", json!({ "command": "git push other" }))["isError"], false);
    assert_eq!(client.rest(), Vec::<Value>::new(), "nothing more was asked");
}

#[test]
fn questions_are_put_one_after_the_other_and_end_with_their_call() {
    let project = project();
    let mut client = Client::open(&project, &["--answer-within", "2s"], &forms());
    let calls = ["two\n", "three\n"].map(|text| client.begin("write_file", writes(text)));
    let question = client.question();
    let is_second = question["params"]["message"].as_str().unwrap().contains("three");
    let (first, second) = if is_second { (calls[1], calls[0]) } else { (calls[0], calls[1]) };
    let early = client.within(Duration::from_millis(300), |m| m["method"] == "elicitation/create");
    assert_eq!(early, None, "the second waits for the first");
    client.tell("notifications/cancelled", json!({ "requestId": first }));
    let next = client.question();
    assert_ne!(next["id"], question["id"]);
    // An answer that comes too late for its call does nothing.
    client.answer(&question, json!({ "action": "accept", "content": { "decision": "once" } }));
    let result = client.answer_to(second)["result"].clone();
    assert!(text(&result).contains("the client did not answer in time"), "{result}");
    assert_eq!(project.read("ask/a.txt"), "one\n");
    client.still_works();
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_client_that_cannot_ask_is_told_how_the_user_can_answer() {
    let project = project();
    for capabilities in [json!({}), json!({ "elicitation": { "url": {} } }), json!({ "roots": {} })]
    {
        let mut client = Client::open(&project, &[], &capabilities);
        let old = client.tool("write_file", writes("two\n"));
        let call = json!({
            "name": "write_file", "arguments": writes("two\n"), "_meta": meta(&capabilities),
        });
        let new = client.call("tools/call", call)["result"].clone();
        for result in [old, new] {
            assert_eq!(result["isError"], true, "{capabilities}: {result}");
            let says = text(&result);
            assert!(says.contains("this client cannot ask the user"), "{says}");
            assert!(says.contains("`zonekeep approve`"), "{says}");
        }
        assert_eq!(project.read("ask/a.txt"), "one\n");
    }
}

#[test]
fn a_socket_that_cannot_be_made_stops_only_those_who_need_it() {
    let project = project();
    let long = project.beside(&"long".repeat(40));
    std::fs::DirBuilder::new().mode(0o700).create(&long).unwrap();
    let start = |flags: &[&str]| {
        let mut command = project.command();
        command.arg("mcp").args(flags).env("XDG_RUNTIME_DIR", &long);
        Client::of(command)
    };
    let mut client = start(&[]);
    client.listen();
    client.greet(&json!({}));
    client.still_works();
    assert_eq!(client.tool("write_file", writes("two\n"))["isError"], true);
    assert_eq!(project.read("ask/a.txt"), "one\n");
    assert!(client.said().contains("cannot answer for this server"), "{}", client.said());
    assert_eq!(client.end(), Some(0));
    assert_eq!(start(&["--approve", "socket"]).ended(), Some(125));
}

#[test]
fn whoever_is_attached_answers_for_a_client_that_cannot_ask() {
    let project = project();
    let Some(mut person) = project.zonekeep_at_terminal(["approve"]) else {
        return skip("no terminal can be made here");
    };
    person.wait_for("waiting for questions");
    let mut client = Client::open(&project, &[], &json!({}));
    // It takes a moment until the terminal has found the session.
    let call = eventually("a question", || {
        let call = client.begin("write_file", writes("two\n"));
        client.within(Duration::from_millis(500), |m| m["id"] == call).is_none().then_some(call)
    });
    person.wait_for("wants to write '/ask/a.txt'");
    person.wait_for("zonekeep> ");
    person.type_in("y\n");
    assert_eq!(client.answer_to(call)["result"]["isError"], false);
    assert_eq!(project.read("ask/a.txt"), "two\n");
    assert!(project.log_lines().join("\n").contains(r#""by":"socket""#));
    // A client that can ask is asked itself, whoever is attached.
    let mut able = Client::open(&project, &[], &forms());
    able.begin("write_file", writes("three\n"));
    able.question();
}

/// Returns the question that waits on the socket.
fn waiting(project: &Project) -> Value {
    eventually("the question", || {
        let run = project.zonekeep(["approve", "--json"]);
        run.ok().lines().next().map(|line| serde_json::from_str(line).unwrap())
    })
}

#[test]
fn questions_for_the_socket_wait_there_and_go_nowhere_else() {
    let project = project();
    let mut client = Client::open(&project, &["--approve", "socket"], &forms());
    let call = client.begin("write_file", writes("two\n"));
    let id = waiting(&project)["request"]["id"].as_str().unwrap().to_owned();
    project.zonekeep(["approve", &id, "yes"]).ok();
    assert_eq!(client.answer_to(call)["result"]["isError"], false);
    let refused = client.begin("write_file", writes("three\n"));
    let id = waiting(&project)["request"]["id"].as_str().unwrap().to_owned();
    project.zonekeep(["approve", &id, "no", "--note", "not now"]).ok();
    assert!(text(&client.answer_to(refused)["result"]).contains("Their note: not now"));
    // A call that is cancelled takes its question with it.
    let call = client.begin("write_file", writes("four\n"));
    waiting(&project);
    client.tell("notifications/cancelled", json!({ "requestId": call }));
    eventually("no question", || {
        (project.zonekeep(["approve", "--list"]).ok() == "No question waits.").then_some(())
    });
    assert_eq!(client.rest(), Vec::<Value>::new(), "the client was not asked");
    assert_eq!(project.read("ask/a.txt"), "two\n");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn others_can_answer_for_the_user() {
    let project = project();
    let program = |name: &str, text: &str| {
        project.put(name, format!("#!/bin/sh\ncat >/dev/null\necho '{text}'\n"));
        fs::set_permissions(project.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    };
    program("tools/yes", r#"{"approved": true}"#);
    program("tools/no", r#"{"approved": false, "note": "use /work"}"#);
    let cases = [
        ("all", true, "Replaced"),
        ("none", false, "all questions are answered no"),
        ("./tools/yes", true, "Replaced"),
        ("./tools/no", false, "Their note: use /work"),
    ];
    for (who, yes, says) in cases {
        project.put("ask/a.txt", "one\n");
        let mut client = Client::open(&project, &["--approve", who], &forms());
        let result = client.tool("write_file", writes("two\n"));
        assert!(text(&result).contains(says), "{who}: {result}");
        assert_eq!(project.read("ask/a.txt"), if yes { "two\n" } else { "one\n" }, "{who}");
        assert_eq!(client.rest(), Vec::<Value>::new(), "{who}: the client was not asked");
        assert_eq!(client.end(), Some(0));
    }
    for (who, exit) in [("nobody", 2), ("./tools/missing", 125), ("ask/a.txt", 125)] {
        let run = project.zonekeep(["mcp", "--approve", who]);
        assert_eq!((run.exit, run.stdout.as_str()), (exit, ""), "{who}: {run}");
    }
}
