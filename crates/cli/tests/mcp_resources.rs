//! `zonekeep mcp`: files and records as resources, and news of them.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::time::Duration;

use crate::mcp_common::{Client, PROGRAM, forms, meta};
use serde_json::{Value, json};
use zonekeep_testkit::Project;

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    input: { path: ./in, mode: ro }
    private: { path: ./private, mode: ro, approval: { read: ask } }
    work: { path: ./work, mode: rw, approval: { write: preApproved } }
";

fn project() -> Project {
    Project::with_config(PROGRAM, CONFIG)
        .file("in/a.txt", "input\n")
        .file("in/blob.bin", b"\0\x01\xff")
        .file("in/a b#1?é.md", "odd\n")
        .file("private/diary.txt", "dear\n")
        .file("outside.txt", "outside\n")
        .dir("work")
}

fn read(client: &mut Client, uri: &str) -> Value {
    client.call("resources/read", json!({ "uri": uri }))
}

#[test]
fn files_are_listed_page_by_page() {
    let project = project();
    for at in 0..450 {
        project.put(&format!("work/{at:03}.txt"), "x");
    }
    let mut client = Client::open(&project, &[], &json!({}));
    let (mut uris, mut pages, mut params) = (Vec::new(), 0, json!({}));
    loop {
        let page = client.call("resources/list", params.clone())["result"].clone();
        let listed = page["resources"].as_array().unwrap();
        assert!(listed.len() <= 201, "{}", listed.len());
        uris.extend(listed.iter().map(|one| one["uri"].as_str().unwrap().to_owned()));
        pages += 1;
        match page.get("nextCursor") {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => break,
        }
        assert!(pages < 10);
    }
    assert_eq!((uris.len(), pages), (1 + 3 + 450, 3));
    assert_eq!(uris[0], "zonekeep://audit/session");
    uris.sort();
    uris.dedup();
    assert_eq!(uris.len(), 454, "none is listed twice");
    assert!(
        uris.contains(&"zonekeep:///input/a%20b%231%3F%C3%A9.md".to_owned()),
        "{:?}",
        &uris[..9]
    );
    assert!(!uris.iter().any(|uri| uri.contains("diary") || uri.contains("outside")));
    for uri in uris.iter().filter(|uri| uri.contains("/input/")) {
        assert!(read(&mut client, uri).get("result").is_some(), "{uri}");
    }
    let templates = client.call("resources/templates/list", json!({}));
    assert_eq!(templates["result"]["resourceTemplates"][0]["uriTemplate"], "zonekeep:///{+path}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn files_are_read_as_text_or_bytes_and_held_to_the_rules() {
    let project = project().file("in/large.txt", "x".repeat((4 << 20) + 1));
    project.put("in/exact.txt", "x".repeat(4 << 20));
    let mut client = Client::open(&project, &[], &json!({}));
    let content = |answer: Value| answer["result"]["contents"][0].clone();
    let uri = "zonekeep:///input/a.txt";
    let want = json!({ "uri": uri, "mimeType": "text/plain", "text": "input\n" });
    assert_eq!(content(read(&mut client, uri)), want);
    let uri = "zonekeep:///input/blob.bin";
    let want = json!({ "uri": uri, "mimeType": "application/octet-stream", "blob": "AAH/" });
    assert_eq!(content(read(&mut client, uri)), want);
    let whole = content(read(&mut client, "zonekeep:///input/exact.txt"));
    assert_eq!(whole["text"].as_str().unwrap().len(), 4 << 20);
    let cases = [
        ("zonekeep:///input/large.txt", -32602, "use read_file"),
        ("zonekeep:///input/none.txt", -32002, "no such file"),
        ("zonekeep:///input", -32602, "Cannot read '/input'"),
        ("zonekeep:///outside.txt", -32602, "Cannot "),
        ("zonekeep:///input/../outside.txt", -32602, "Cannot "),
        ("zonekeep:///input/%2e%2e/outside.txt", -32602, "Cannot "),
        ("zonekeep:///input/a.txt%00", -32602, "Cannot "),
        ("zonekeep:///etc/passwd", -32602, "Cannot "),
        ("zonekeep:///private/diary.txt", -32602, "cannot ask the user"),
        ("zonekeep://audit/other", -32002, "no such resource"),
        ("zonekeep:///input/a.txt?x", -32002, "no such resource"),
        ("file:///etc/passwd", -32002, "no such resource"),
        ("", -32002, "no such resource"),
    ];
    for (uri, code, says) in cases {
        let answer = read(&mut client, uri);
        assert_eq!(answer["error"]["code"], code, "{uri}: {answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(says), "{uri}: {message}");
        assert!(!message.contains(project.path("").to_str().unwrap()), "{uri}: {message}");
    }
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_file_that_has_to_be_asked_about_is() {
    let project = project();
    let uri = "zonekeep:///private/diary.txt";
    let once = json!({ "action": "accept", "content": { "decision": "once" } });
    let mut client = Client::open(&project, &[], &forms());
    for (answer, text) in
        [(json!({ "action": "decline" }), Value::Null), (once.clone(), json!("dear\n"))]
    {
        let id = client.ask("resources/read", json!({ "uri": uri }));
        let question = client.question();
        client.answer(&question, answer);
        assert_eq!(client.answer_to(id)["result"]["contents"][0]["text"], text);
    }
    // The newer era asks by a result.
    let mut params = json!({ "uri": uri, "_meta": meta(&forms()) });
    let asked = client.call("resources/read", params.clone())["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    params["requestState"] = asked["requestState"].clone();
    params["inputResponses"] = json!({ "approve": once });
    assert_eq!(client.call("resources/read", params)["result"]["contents"][0]["text"], "dear\n");
    // Nobody is asked for a subscription.
    let says = client.call("resources/subscribe", json!({ "uri": uri }));
    assert_eq!(says["error"]["code"], -32602, "{says}");
    assert_eq!(client.rest(), Vec::<Value>::new());
    assert_eq!(client.end(), Some(0));
}

#[test]
fn the_records_of_the_session_say_nothing_of_the_host() {
    let project = project();
    let mut earlier = Client::open(&project, &[], &json!({}));
    earlier.tool("read_file", json!({ "path": "/input/blob.bin" }));
    assert_eq!(earlier.end(), Some(0));
    let mut client = Client::open(&project, &[], &json!({}));
    client.still_works();
    client.tool("read_file", json!({ "path": "/input/none" }));
    client.tool("read_file", json!({ "path": "/etc/passwd" }));
    client.tool("write_file", json!({ "path": "/work/new", "content": "x" }));
    client.tool("shell", json!({ "command": "ls /input" }));
    let records = read(&mut client, "zonekeep://audit/session")["result"]["contents"][0].clone();
    assert_eq!(records["mimeType"], "application/jsonl");
    let lines: Vec<Value> = records["text"]
        .as_str()
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let paths: Vec<_> = lines.iter().filter_map(|line| line["path"].as_str()).collect();
    for path in ["/input/a.txt", "/input/none", "/etc/passwd", "/work/new"] {
        assert!(paths.contains(&path), "{path} in {paths:?}");
    }
    assert!(!paths.contains(&"/input/blob.bin"), "another session's: {paths:?}");
    let all = records["text"].as_str().unwrap();
    for host in [project.path(""), project.state(), project.beside("home")] {
        assert!(!all.contains(host.to_str().unwrap()), "{} in {all}", host.display());
    }
    assert!(
        project
            .log_lines()
            .join("")
            .contains(project.path("").to_str().unwrap().trim_end_matches('/')),
        "the log itself has it"
    );
    assert_eq!(client.end(), Some(0));
}

fn is_update(message: &Value) -> bool {
    message["method"] == "notifications/resources/updated"
}

#[test]
fn a_client_of_the_older_era_hears_of_what_it_subscribed_to() {
    let project = project();
    let mut client = Client::open(&project, &[], &json!({}));
    let uri = "zonekeep:///input/a.txt";
    for _ in 0..2 {
        assert_eq!(client.call("resources/subscribe", json!({ "uri": uri }))["result"], json!({}));
    }
    project.put("in/blob.bin", "changed too");
    project.put("in/a.txt", "changed\n");
    let news = client.wait_for("the news", is_update);
    assert_eq!(news["params"]["uri"], uri, "{news}");
    project.put("in/a.txt", "changed again\n");
    client.wait_for("more news", is_update);
    std::fs::remove_file(project.path("in/a.txt")).unwrap();
    client.wait_for("news of its end", is_update);
    project.put("in/a.txt", "input\n");
    client.wait_for("news of a new one", is_update);
    assert_eq!(client.call("resources/unsubscribe", json!({ "uri": uri }))["result"], json!({}));
    client.rest();
    project.put("in/a.txt", "unheard\n");
    assert_eq!(client.within(Duration::from_millis(1_300), is_update), None);
    // There is an end to it.
    let mut refused = 0;
    for at in 0..600 {
        let uri = format!("zonekeep:///work/{at}");
        project.put(&format!("work/{at}"), "x");
        let says = client.call("resources/subscribe", json!({ "uri": uri }));
        refused += usize::from(says["error"]["code"] == -32602);
    }
    assert_eq!(refused, 600 - 512);
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_client_of_the_newer_era_listens() {
    let project = project();
    let mut client = Client::start(&project, &[]);
    let uri = "zonekeep:///input/a.txt";
    let hidden = ["zonekeep:///private/diary.txt", "zonekeep:///none", "file:///etc/passwd"];
    let wanted = json!({
        "_meta": meta(&json!({})),
        "notifications": {
            "toolsListChanged": true,
            "promptsListChanged": true,
            "resourceSubscriptions": [uri, hidden[0], hidden[1], hidden[2]],
        },
    });
    let id = client.ask("subscriptions/listen", wanted);
    let told = client.wait_for("the acknowledgement", |message| {
        message["method"] == "notifications/subscriptions/acknowledged"
    });
    assert_eq!(
        told["params"]["notifications"],
        json!({ "toolsListChanged": true, "resourceSubscriptions": [uri] })
    );
    project.put("in/a.txt", "changed\n");
    let news = client.wait_for("the news", is_update);
    assert_eq!(news["params"]["uri"], uri);
    assert_eq!(news["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id, "{news}");
    project.put("zonekeep.yaml", format!("{CONFIG}delegation: {{ max_depth: 1 }}\n"));
    client.wait_for("other tools", |m| m["method"] == "notifications/tools/list_changed");
    client.tell("notifications/cancelled", json!({ "requestId": id, "_meta": meta(&json!({})) }));
    let call = json!({ "name": "read_file", "arguments": { "path": "/input/a.txt" }, "_meta": meta(&json!({})) });
    assert_eq!(client.call("tools/call", call)["result"]["isError"], false);
    client.rest();
    project.put("in/a.txt", "unheard\n");
    assert_eq!(client.within(Duration::from_millis(1_300), is_update), None);
    assert_eq!(client.end(), Some(0));
}
