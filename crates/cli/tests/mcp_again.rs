//! `zonekeep mcp` and clients of the revision of 2026-07-28: a question is a result,
//! and its answer a call that is made again. By hand, so that it can be done wrong.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use crate::mcp_common::{Client, forms, meta, project, text};
use serde_json::{Value, json};

/// Returns a call of `write_file`.
fn write(path: &str, content: &str) -> Value {
    json!({
        "name": "write_file",
        "arguments": { "path": path, "content": content },
        "_meta": meta(&forms()),
    })
}

/// Returns a call with what the client brings back.
fn again(mut call: Value, state: &Value, answer: Value) -> Value {
    call["requestState"] = state.clone();
    call["inputResponses"] = json!({ "approve": answer });
    call
}

fn once() -> Value {
    json!({ "action": "accept", "content": { "decision": "once" } })
}

/// Makes a call that has to be asked about; returns the question.
#[track_caller]
fn asked(client: &mut Client, call: &Value) -> Value {
    let says = client.call("tools/call", call.clone());
    assert_eq!(says["result"]["resultType"], "input_required", "{says}");
    says["result"].clone()
}

#[test]
fn a_call_is_made_again_with_the_answer() {
    let project = project();
    let mut client = Client::start(&project, &[]);
    let found = client.call("server/discover", json!({ "_meta": meta(&forms()) }));
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{found}");
    let call = write("/ask/a.txt", "two\n");
    let question = asked(&mut client, &call);
    let form = &question["inputRequests"]["approve"];
    assert_eq!(form["method"], "elicitation/create");
    assert_eq!(form["params"]["requestedSchema"]["required"], json!(["decision"]));
    let message = form["params"]["message"].as_str().unwrap();
    assert!(message.contains("-one") && message.contains("+two"), "{message}");
    assert_eq!(project.read("ask/a.txt"), "one\n");
    let state = &question["requestState"];
    let done = client.call("tools/call", again(call.clone(), state, once()));
    assert_eq!(done["result"]["isError"], false, "{done}");
    assert_eq!(project.read("ask/a.txt"), "two\n");
    // The record has it under one name, from the question to the end.
    let log: Vec<Value> =
        project.log_lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let steps: Vec<_> = log.iter().map(|record| record["outcome"].as_str().unwrap()).collect();
    assert_eq!(steps, ["asked", "begun", "done"]);
    assert!(log.iter().all(|record| record["id"] == log[0]["id"]), "{log:?}");
    assert_eq!(
        log[2]["answer"],
        json!({ "approved": true, "by": "client raw", "remember": "once" })
    );
    // The answer is used up.
    project.put("ask/a.txt", "one\n");
    let replayed = client.call("tools/call", again(call, state, once()));
    assert_eq!(replayed["error"]["code"], -32602, "{replayed}");
    assert_eq!(project.read("ask/a.txt"), "one\n");
    client.send(&json!({ "jsonrpc": "2.0", "id": "bye", "method": "nonsense" }));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_state_is_good_for_nothing_else() {
    let project = project();
    let mut client = Client::start(&project, &[]);
    let mut other = Client::start(&project, &[]);
    let call = write("/ask/a.txt", "two\n");
    let foreign = asked(&mut other, &call)["requestState"].clone();
    let forged = |state: &str, at: usize| {
        let mut bytes = state.as_bytes().to_vec();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        json!(String::from_utf8(bytes).unwrap())
    };
    let mut with_more = call.clone();
    with_more["arguments"]["create_dirs"] = json!(true);
    let mut delete = call.clone();
    (delete["name"], delete["arguments"]) = (json!("delete_file"), json!({ "path": "/ask/a.txt" }));
    let state = asked(&mut client, &call)["requestState"].clone();
    let text_of = state.as_str().unwrap();
    let tries = [
        ("another server's", call.clone(), foreign),
        ("empty", call.clone(), json!("")),
        ("nonsense", call.clone(), json!("nonsense")),
        ("long", call.clone(), json!("A".repeat(1 << 20))),
        ("cut", call.clone(), json!(&text_of[..text_of.len() - 1])),
        ("changed at the start", call.clone(), forged(text_of, 0)),
        ("changed in the middle", call.clone(), forged(text_of, text_of.len() / 2)),
        ("for another content", write("/ask/a.txt", "three\n"), state.clone()),
        ("for another file", write("/ask/b.txt", "two\n"), state.clone()),
        ("for the same file by another name", write("/ask/./a.txt", "two\n"), state.clone()),
        ("for more arguments", with_more, state.clone()),
        ("for another tool", delete, state.clone()),
    ];
    for (what, call, state) in tries {
        let says = client.call("tools/call", again(call, &state, once()));
        assert_eq!(says["error"]["code"], -32602, "{what}: {says}");
        let message = says["error"]["message"].as_str().unwrap();
        assert!(message.contains("make the call again without requestState"), "{what}: {says}");
    }
    let read = json!({
        "uri": "zonekeep:///ask/a.txt", "requestState": state, "_meta": meta(&forms()),
        "inputResponses": { "approve": once() },
    });
    assert_eq!(client.call("resources/read", read)["error"]["code"], -32602);
    // An answer without a state is an answer to nothing.
    let mut without = call.clone();
    without["inputResponses"] = json!({ "approve": once() });
    asked(&mut client, &without);
    assert_eq!((project.read("ask/a.txt"), project.exists("ask/b.txt")), ("one\n".into(), false));
    // The control: it was good all the while.
    let done = client.call("tools/call", again(call, &state, once()));
    assert_eq!(
        (&done["result"]["isError"], project.read("ask/a.txt")),
        (&json!(false), "two\n".into())
    );
}

#[test]
fn only_a_clear_yes_is_one() {
    let project = project();
    let mut client = Client::start(&project, &[]);
    let call = write("/ask/a.txt", "two\n");
    let accept = |content: Value| json!({ "action": "accept", "content": content });
    let cases = [
        (
            json!({ "approve": accept(json!({ "decision": "deny", "note": "later" })) }),
            "Their note: later",
        ),
        (json!({ "approve": accept(json!({ "decision": "yes" })) }), "without a decision"),
        (json!({ "approve": accept(json!({})) }), "without a decision"),
        (json!({ "approve": { "action": "accept" } }), "without a decision"),
        (
            json!({ "approve": { "action": "decline", "content": { "decision": "once" } } }),
            "declined",
        ),
        (json!({ "approve": { "action": "cancel" } }), "declined"),
        (json!({ "approve": { "action": "agree" } }), "could not be read"),
        (json!({ "approve": "once" }), "could not be read"),
        (json!({ "approve": null }), "could not be read"),
        (json!({ "Approve": once() }), "without an answer"),
        (json!({}), "without an answer"),
    ];
    for (responses, says) in cases {
        let state = asked(&mut client, &call)["requestState"].clone();
        let mut call = call.clone();
        call["requestState"] = state.clone();
        call["inputResponses"] = responses.clone();
        let result = client.call("tools/call", call.clone())["result"].clone();
        assert!(result["isError"] == true && text(&result).contains(says), "{responses}: {result}");
        // A no uses the question up as well.
        call["inputResponses"] = json!({ "approve": once() });
        assert_eq!(client.call("tools/call", call)["error"]["code"], -32602, "{responses}");
    }
    assert_eq!(project.read("ask/a.txt"), "one\n");
}

#[test]
fn what_has_changed_meanwhile_is_asked_about_again() {
    let project = project();
    let mut client = Client::start(&project, &[]);
    let call = write("/ask/a.txt", "two\n");
    let state = asked(&mut client, &call)["requestState"].clone();
    project.put("ask/a.txt", "something else that is worth keeping\n");
    let second = asked(&mut client, &again(call.clone(), &state, once()));
    let message = second["inputRequests"]["approve"]["params"]["message"].as_str().unwrap();
    assert!(message.contains("-something else"), "{message}");
    let done = client.call("tools/call", again(call, &second["requestState"], once()));
    assert_eq!(
        (&done["result"]["isError"], project.read("ask/a.txt")),
        (&json!(false), "two\n".into())
    );
}

#[test]
fn an_answer_for_the_session_holds_for_it() {
    let project = project();
    let mut client = Client::start(&project, &[]);
    let call = write("/ask/a.txt", "two\n");
    let state = asked(&mut client, &call)["requestState"].clone();
    let session = json!({ "action": "accept", "content": { "decision": "session" } });
    let done = client.call("tools/call", again(call, &state, session));
    assert_eq!(done["result"]["isError"], false, "{done}");
    let next = client.call("tools/call", write("/ask/a.txt", "three\n"));
    assert_eq!(next["result"]["isError"], false, "{next}");
    asked(&mut client, &write("/ask/b.txt", "two\n"));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn old_questions_are_given_up_when_there_are_too_many() {
    let project = project();
    let mut client = Client::start(&project, &[]);
    let call = write("/ask/a.txt", "two\n");
    let first = asked(&mut client, &call)["requestState"].clone();
    let calls: Vec<i64> = (0..1_024).map(|_| client.ask("tools/call", call.clone())).collect();
    let mut last = Value::Null;
    for id in calls {
        last = client.answer_to(id)["result"]["requestState"].clone();
    }
    let says = client.call("tools/call", again(call.clone(), &first, once()));
    assert_eq!(says["error"]["code"], -32602, "{says}");
    let done = client.call("tools/call", again(call, &last, once()));
    assert_eq!(done["result"]["isError"], false, "{done}");
    assert_eq!(client.end(), Some(0));
}
