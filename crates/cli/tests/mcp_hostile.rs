//! `zonekeep mcp` and clients that mean harm or are broken: each abuse is answered
//! clearly, and after it an ordinary call still works.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::mcp_common::{CONFIG, Client, PROGRAM, forms, hello, meta, project};
use serde_json::{Value, json};
use zonekeep_testkit::Project;

/// Sends a line as it is and returns the first answer that has an error.
#[track_caller]
fn refused(client: &mut Client, line: &[u8]) -> Value {
    client.raw(line);
    client.raw(b"\n");
    client.wait_for(&String::from_utf8_lossy(line), |message| message.get("error").is_some())
}

#[test]
fn what_is_no_message_gets_an_error_and_nothing_more() {
    let project = project();
    let mut client = Client::open(&project, &[], &json!({}));
    let deep = [b'['; 90_000];
    let cases: &[(&[u8], i64, Value)] = &[
        (b"{", -32700, Value::Null),
        (b"}", -32700, Value::Null),
        (b"nonsense", -32700, Value::Null),
        (b"\"half a text", -32700, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"", -32700, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",}", -32700, Value::Null),
        (b"{'jsonrpc':'2.0','id':1,'method':'ping'}", -32700, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}{}", -32700, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\0", -32700, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\xff\"}", -32700, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\\ud800\"}", -32700, Value::Null),
        (b"\xff\xfe\x00", -32700, Value::Null),
        (b"\0", -32700, Value::Null),
        (b"NaN", -32700, Value::Null),
        (b"1e999999", -32700, Value::Null),
        (&deep, -32700, Value::Null),
        (b"[]", -32600, Value::Null),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600, Value::Null),
        (b"null", -32600, Value::Null),
        (b"7", -32600, Value::Null),
        (b"\"ping\"", -32600, Value::Null),
        (b"{}", -32600, Value::Null),
        (b"{\"jsonrpc\":\"2.0\"}", -32600, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":71}", -32600, json!(71)),
        (b"{\"id\":72,\"method\":\"ping\"}", -32600, json!(72)),
        (b"{\"jsonrpc\":\"1.0\",\"id\":\"73\",\"method\":\"ping\"}", -32600, json!("73")),
        (b"{\"jsonrpc\":2.0,\"id\":74,\"method\":\"ping\"}", -32600, json!(74)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":75,\"method\":7}", -32600, json!(75)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":76,\"method\":null}", -32600, json!(76)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"ping\",\"params\":7}", -32600, json!(77)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":78,\"method\":\"a\",\"method\":\"b\"}", -32600, json!(78)),
        // Odd ids are not repeated.
        (b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", -32600, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}", -32600, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", -32600, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1e300,\"method\":\"ping\"}", -32600, Value::Null),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":99999999999999999999999,\"method\":\"ping\"}",
            -32600,
            Value::Null,
        ),
        // An answer that is none is not answered by its id, which is not the client's.
        (b"{\"jsonrpc\":\"2.0\",\"id\":79,\"error\":5}", -32600, Value::Null),
    ];
    for (line, code, id) in cases {
        let says = refused(&mut client, line);
        let shown = String::from_utf8_lossy(&line[..line.len().min(80)]);
        assert_eq!((&says["error"]["code"], &says["id"]), (&json!(code), id), "{shown}: {says}");
        let message = says["error"]["message"].as_str().unwrap();
        assert!(message.len() > 10 && message.len() < 200, "{shown}: {says}");
    }
    for id in
        [json!(""), json!("a\nb"), json!(-1), json!(0), json!(i64::MAX), json!("x".repeat(9999))]
    {
        client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }));
        let pong = client.wait_for("a pong", |message| message["id"] == id);
        assert_eq!(pong["result"], json!({}), "{id}");
    }
    // What needs no answer gets none: blank lines, responses to nothing, other notices.
    client.raw(b"\n  \r\n\t\n");
    for message in [
        json!({ "jsonrpc": "2.0", "id": 900, "result": {} }),
        json!({ "jsonrpc": "2.0", "id": 901, "result": 7 }),
        json!({ "jsonrpc": "2.0", "id": 902, "error": { "code": -1, "message": "no" } }),
        json!({ "jsonrpc": "2.0", "error": { "code": -1, "message": "no" } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/nonsense", "params": { "a": 1 } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": {} } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": 1 } }),
        json!({ "jsonrpc": "2.0", "method": "tools/call", "params": { "name": "read_file" } }),
    ] {
        client.send(&message);
    }
    client.still_works();
    assert_eq!(client.rest(), Vec::<Value>::new());
    assert_eq!(client.end(), Some(0));
}

#[test]
fn wrong_types_anywhere_are_an_error_of_the_parameters() {
    let project = project();
    let mut client = Client::open(&project, &[], &json!({}));
    let odd = [json!(null), json!(7), json!(true), json!(""), json!([]), json!({ "a": [1] })];
    let modern = |params: Value| {
        let mut params = params;
        params["_meta"] = meta(&forms());
        params
    };
    // The method, and parameters with a place for something odd.
    type Case = (&'static str, Box<dyn Fn(Value) -> Value>);
    let cases: Vec<Case> = vec![
        ("tools/call", Box::new(|odd| json!({ "name": odd }))),
        ("tools/call", Box::new(|odd| json!({ "name": "read_file", "arguments": odd }))),
        (
            "tools/call",
            Box::new(|odd| json!({ "name": "read_file", "arguments": { "path": odd } })),
        ),
        ("tools/call", Box::new(|odd| json!({ "name": "shell", "arguments": { "command": odd } }))),
        (
            "tools/call",
            Box::new(
                |odd| json!({ "name": "read_file", "arguments": { "path": "/input/no", "limit": odd } }),
            ),
        ),
        ("resources/read", Box::new(|odd| json!({ "uri": odd }))),
        ("resources/subscribe", Box::new(|odd| json!({ "uri": odd }))),
        ("resources/list", Box::new(|odd| json!({ "cursor": [odd] }))),
        (
            "server/discover",
            Box::new(|odd| json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": odd } })),
        ),
        ("initialize", Box::new(|odd| json!({ "protocolVersion": [odd] }))),
        (
            "tools/call",
            Box::new(move |odd| {
                modern(json!({
                    "name": "write_file",
                    "arguments": { "path": "/ask/a.txt", "content": "two" },
                    "requestState": [odd],
                    "inputResponses": odd,
                }))
            }),
        ),
    ];
    for (method, place) in &cases {
        for odd in &odd {
            let params = place(odd.clone());
            let says = client.call(method, params.clone());
            let code = says["error"]["code"].as_i64();
            let is_clear = match code {
                Some(code) => [-32602, -32600, -32601, -32002, -32022].contains(&code),
                // What the tool itself says of its arguments, or a missing file.
                None => says["result"]["isError"] == true || *method == "resources/list",
            };
            assert!(is_clear, "{method} {params}: {says}");
        }
    }
    for (method, params, code) in [
        ("nonsense", json!({}), -32601),
        ("", json!({}), -32601),
        ("tools/call/", json!({ "name": "read_file" }), -32601),
        ("notifications/initialized", json!({}), -32601),
        ("completion/complete", json!({}), -32601),
        ("sampling/createMessage", json!({}), -32601),
        ("tasks/list", json!({}), -32601),
        ("prompts/list", json!({}), -32601),
        ("prompts/get", json!({ "name": "x" }), -32601),
        ("logging/setLevel", json!({ "level": "debug" }), -32601),
        ("resources/read", json!({ "uri": "file:///etc/passwd" }), -32002),
        ("resources/read", json!({ "uri": "zonekeep:///../etc/passwd" }), -32602),
        ("resources/list", json!({ "cursor": "-1" }), -32602),
        ("resources/list", json!({ "cursor": "18446744073709551616" }), -32602),
        ("resources/subscribe", json!({ "uri": "zonekeep:///etc/passwd" }), -32602),
    ] {
        let says = client.call(method, params.clone());
        assert_eq!(says["error"]["code"], code, "{method} {params}: {says}");
    }
    assert_eq!(project.read("ask/a.txt"), "one\n");
    client.still_works();
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_session_may_begin_in_any_order() {
    let project = project();
    let read = json!({ "name": "read_file", "arguments": { "path": "/input/a.txt" } });
    let modern = |params: &Value| {
        let mut params = params.clone();
        params["_meta"] = meta(&json!({}));
        params
    };
    let old = ("initialize", hello("2025-11-25", &json!({})));
    let call = ("tools/call", read.clone());
    let new_call = ("tools/call", modern(&read));
    let discover = ("server/discover", modern(&json!({})));
    let unknown = ("server/discover", {
        let mut params = modern(&json!({}));
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2030-01-01");
        params
    });
    // Requests, and the code of each one's error; 0 for none.
    let cases: Vec<Vec<(&(&str, Value), i64)>> = vec![
        vec![(&call, -32602), (&old, 0), (&call, 0)],
        vec![(&old, 0), (&call, 0), (&old, 0), (&call, 0), (&new_call, 0), (&call, 0)],
        vec![(&discover, 0), (&new_call, 0), (&call, -32602), (&new_call, 0)],
        vec![(&new_call, 0), (&discover, 0), (&discover, 0), (&new_call, 0)],
        vec![(&unknown, -32022), (&discover, 0), (&new_call, 0)],
        vec![(&unknown, -32022), (&old, 0), (&call, 0)],
    ];
    for case in cases {
        let mut client = Client::start(&project, &[]);
        client.tell("notifications/initialized", json!({}));
        client.tell("notifications/cancelled", json!({ "requestId": 1 }));
        client.send(&json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
        assert_eq!(refused(&mut client, b"{")["error"]["code"], -32700);
        for (at, ((method, params), code)) in case.iter().enumerate() {
            let says = client.call(method, params.clone());
            let got = says["error"]["code"].as_i64().unwrap_or(0);
            assert_eq!(got, *code, "{at}: {method}: {says}");
        }
        client.tell("notifications/initialized", json!({}));
        assert_eq!(client.rest(), Vec::<Value>::new());
        assert_eq!(client.end(), Some(0));
    }
    // A client that leaves before it has said anything is no failure.
    assert_eq!(Client::start(&project, &[]).end(), Some(0));
    // A version that is not known gets one that is.
    for version in ["1999-01-01", "2024-11-05", "2025-06-18", "2026-07-28", ""] {
        let mut client = Client::start(&project, &[]);
        let says = client.call("initialize", hello(version, &json!({})));
        let got = says["result"]["protocolVersion"].as_str().unwrap();
        let known = version.starts_with("202") && version != "2026-07-28";
        assert_eq!(got, if known { version } else { "2025-11-25" });
        client.still_works();
    }
}

#[test]
fn messages_of_100_mb_are_passed_over() {
    let project = project();
    let mut client = Client::open(&project, &[], &json!({}));
    let piece = vec![b'a'; 1 << 20];
    for end in [&b"\"}\n"[..], b"\n"] {
        client.raw(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"");
        for _ in 0..100 {
            client.raw(&piece);
        }
        client.raw(end);
        let says = client.wait_for("an error", |message| message.get("error").is_some());
        assert_eq!((&says["error"]["code"], &says["id"]), (&json!(-32600), &Value::Null));
        client.still_works();
    }
    assert_eq!(client.rest(), Vec::<Value>::new(), "one answer to each");
    // Values take more room than their text.
    for (count, code) in [(20_000, None), (8_000_000, Some(-32600))] {
        client.raw(b"{\"jsonrpc\":\"2.0\",\"id\":\"n\",\"method\":\"tools/call\",\"params\":{\"name\":\"read_file\",\"arguments\":{\"path\":[");
        client.raw("0,".repeat(count).as_bytes());
        client.raw(b"0]}}}\n");
        let says = client.wait_for("an answer", |message| message.get("method").is_none());
        match code {
            None => {
                assert_eq!((&says["id"], &says["result"]["isError"]), (&json!("n"), &json!(true)))
            }
            Some(code) => {
                assert_eq!((&says["id"], &says["error"]["code"]), (&Value::Null, &json!(code)))
            }
        }
        assert!(says.to_string().len() < 10_000, "what was sent is not repeated");
        client.still_works();
    }
    let most = client.status("VmHWM");
    assert!(most < 128 * 1024, "{most} KiB");
    // A line that never ends.
    client.raw(&piece);
    client.raw(&[b' '; 100]);
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_slow_client_is_waited_for() {
    let project = project();
    let mut client = Client::open(&project, &[], &json!({}));
    let line = json!({
        "jsonrpc": "2.0", "id": "slow", "method": "tools/call",
        "params": { "name": "read_file", "arguments": { "path": "/input/a.txt" } },
    });
    for byte in format!("{line}\r\n").bytes() {
        client.raw(&[byte]);
        std::thread::sleep(Duration::from_millis(1));
    }
    let says = client.wait_for("the answer", |message| message["id"] == "slow");
    assert_eq!(says["result"]["content"][0]["text"], "input\n", "{says}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_thousand_calls_at_a_time_are_all_answered() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let mut client = Client::open(&project, &[], &json!({}));
    let round = |client: &mut Client| {
        let mut wanted = BTreeSet::new();
        for at in 0..1_000 {
            let (name, arguments) = match at % 25 {
                0 => ("shell", json!({ "command": format!("echo {at}") })),
                1 => (
                    "write_file",
                    json!({ "path": format!("/work/{at}"), "content": format!("{at}") }),
                ),
                2 => ("list_files", json!({ "path": "/" })),
                3 => ("file_info", json!({ "path": "/input/a.txt" })),
                4 => ("read_file", json!({ "path": "/input/none" })),
                5 => ("none", json!({})),
                6 => ("search_files", json!({ "pattern": "input", "path": "/input" })),
                _ => ("read_file", json!({ "path": "/input/a.txt" })),
            };
            wanted.insert((client.begin(name, arguments), at));
        }
        for (id, at) in wanted {
            let says = client.answer_to(id);
            let (result, error) = (&says["result"], at % 25 == 4 || at % 25 == 5);
            assert_eq!(result["isError"], error, "{at}: {says}");
            match at % 25 {
                0 => assert_eq!(result["structuredContent"]["stdout"], format!("{at}\n")),
                1 => assert_eq!(project.read(&format!("work/{at}")), at.to_string()),
                7.. => assert_eq!(result["content"][0]["text"], "input\n"),
                _ => {}
            }
        }
        assert_eq!(client.rest(), Vec::<Value>::new());
    };
    round(&mut client);
    let (files, memory) = (client.open_files(), client.status("VmRSS"));
    round(&mut client);
    client.still_works();
    assert!(client.open_files() <= files, "{} files, before {files}", client.open_files());
    let now = client.status("VmRSS");
    assert!(now < memory + 16 * 1024, "{now} KiB, before {memory}");
    // Threads that nobody needs go away.
    let start = Instant::now();
    while client.status("Threads") > 16 {
        assert!(start.elapsed() < Duration::from_secs(120), "{}", client.status("Threads"));
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(client.end(), Some(0));
}

#[test]
fn the_arguments_of_a_worker_hold_here_too() {
    let project = Project::with_config(PROGRAM, CONFIG)
        .file("in/a.txt", "input\n")
        .dir("ask")
        .dir("work")
        .file("w.worker", "---\nname: w\nsandbox: { zones: [{ name: input, mode: ro }] }\n---\n");
    let mut client = Client::open(&project, &["--worker", "w.worker"], &json!({}));
    client.still_works();
    let says = client.tool("write_file", json!({ "path": "/work/a", "content": "x" }));
    assert_eq!((&says["isError"], project.exists("work/a")), (&json!(true), false), "{says}");
    assert_eq!(client.end(), Some(0));
}
