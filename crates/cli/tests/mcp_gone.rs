//! `zonekeep mcp` and clients that ask for too much, do not read, or leave: memory
//! stays bounded, and of what was begun nothing is left.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::mcp_common::{self, Client, all_ended, has_begun, mark, meta, project, text};
use serde_json::{Value, json};
use zonekeep_testkit::{Project, eventually, skip};

/// Returns whether commands can be run here.
fn runs_commands(project: &Project) -> bool {
    let mut client = Client::open(project, &[], &json!({}));
    let ran = client.tool("shell", json!({ "command": "echo ran" }));
    !text(&ran).contains("could not be confined")
}

#[test]
fn more_calls_than_there_is_room_for_are_refused() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let mark = mark();
    let mut client = Client::open(&project, &[], &json!({}));
    let first = client.begin("shell", json!({ "command": format!("sleep {mark}") }));
    for _ in 1..5_000 {
        client.begin("shell", json!({ "command": format!("sleep {mark}") }));
    }
    let mut refused = 0;
    while refused < 5_000 - 4_096 {
        let says = client.wait_for("an error", |message| message.get("error").is_some());
        let error = json!({ "code": -32603, "message": "too many calls are under way" });
        assert_eq!(says["error"], error, "{says}");
        assert!(says["id"].as_i64().unwrap() > first + 4_000, "{says}");
        refused += 1;
    }
    // What is no call still gets through, and a call again once others have ended.
    assert_eq!(client.call("ping", json!({}))["result"], json!({}));
    has_begun(&mark, 1);
    for id in first..first + 5_000 {
        client.tell("notifications/cancelled", json!({ "requestId": id }));
    }
    all_ended(&mark);
    eventually("room", || {
        let read = client.tool("read_file", json!({ "path": "/input/a.txt" }));
        (read["isError"] == false).then_some(())
    });
    assert_eq!(client.rest(), Vec::<Value>::new(), "what is cancelled is not answered");
    assert!(client.status("VmHWM") < 128 * 1024, "{} KiB", client.status("VmHWM"));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn an_id_that_is_under_way_is_not_taken_again() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let mark = mark();
    let mut client = Client::open(&project, &[], &json!({}));
    let sleeps = |id: &str| {
        let call = json!({ "name": "shell", "arguments": { "command": format!("sleep {mark}") } });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call })
    };
    client.send(&sleeps("same"));
    has_begun(&mark, 1);
    for message in [sleeps("same"), json!({ "jsonrpc": "2.0", "id": "same", "method": "ping" })] {
        client.send(&message);
        let says = client.wait_for("an error", |message| message["id"] == "same");
        let error = json!({ "code": -32600, "message": "a request with this id is under way" });
        assert_eq!(says["error"], error);
    }
    // A number is another id than its digits, and the first call can still be ended.
    client.send(&json!({ "jsonrpc": "2.0", "id": "1", "method": "ping" }));
    client.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }));
    for id in [json!("1"), json!(1)] {
        client.wait_for("a pong", |message| message["id"] == id);
    }
    client.tell("notifications/cancelled", json!({ "requestId": "same" }));
    all_ended(&mark);
    client.still_works();
    assert_eq!(client.end(), Some(0));
}

#[test]
fn cancellations_of_nothing_are_ignored() {
    let project = project();
    let mut client = Client::open(&project, &[], &json!({}));
    for id in 0..20_000 {
        client.tell("notifications/cancelled", json!({ "requestId": id + 1_000_000 }));
    }
    for id in ["", "x", "-1"] {
        client.tell("notifications/cancelled", json!({ "requestId": id, "reason": "none" }));
    }
    client.still_works();
    assert_eq!(client.rest(), Vec::<Value>::new());
    assert!(client.status("VmHWM") < 64 * 1024, "{} KiB", client.status("VmHWM"));
    assert_eq!(client.end(), Some(0));
}

/// Writes lines to a server that nobody reads from, again and again, until it
/// takes no more for a while; returns how many bytes it has taken.
fn flood(client: &mut Client, lines: &[u8], most: usize) -> usize {
    let stdin = client.stdin();
    rustix::io::ioctl_fionbio(&*stdin, true).unwrap();
    let (mut taken, mut last) = (0, Instant::now());
    while taken < most && last.elapsed() < Duration::from_millis(500) {
        match stdin.write(&lines[taken % lines.len()..]) {
            Ok(count) => (taken, last) = (taken + count, Instant::now()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                thread::sleep(Duration::from_millis(10));
            }
            Err(error) => panic!("{error}"),
        }
    }
    rustix::io::ioctl_fionbio(&*stdin, false).unwrap();
    taken
}

/// Returns a thousand requests.
fn requests(method: &str, params: &Value) -> Vec<u8> {
    let lines = (1..=1_000).map(|id| {
        format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
    });
    lines.collect::<String>().into_bytes()
}

#[test]
fn a_client_that_does_not_read_does_not_fill_the_memory() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project().file("in/large.txt", "x\n".repeat(1_000));
    let read = json!({ "name": "read_file", "arguments": { "path": "/input/large.txt" } });
    let modern =
        json!({ "_meta": meta(&json!({})), "notifications": { "toolsListChanged": true } });
    let cases = [
        ("ping", json!({})),
        ("nonsense", json!({})),
        ("tools/list", json!({})),
        ("tools/call", read),
        ("resources/list", json!({})),
        ("resources/read", json!({ "uri": "zonekeep:///input/large.txt" })),
        ("subscriptions/listen", modern),
        ("initialize", mcp_common::hello("2025-11-25", &json!({}))),
    ];
    let floods = |method: &str, params: &Value| {
        let mark = mark();
        let mut client = Client::silent(&project, &[]);
        client.ask("initialize", mcp_common::hello("2025-11-25", &json!({})));
        client.begin("shell", json!({ "command": format!("sleep {mark}") }));
        has_begun(&mark, 1);
        flood(&mut client, &requests(method, params), 24 << 20);
        let most = client.status("VmHWM");
        assert!(most < 128 * 1024, "{method}: {most} KiB");
        // Once the client is gone, that is seen at once, whatever it left to be read.
        let start = Instant::now();
        assert_eq!(client.end(), Some(0), "{method}");
        assert!(start.elapsed() < Duration::from_secs(120), "{method}: {:?}", start.elapsed());
        all_ended(&mark);
    };
    thread::scope(|scope| {
        for (method, params) in &cases {
            scope.spawn(|| floods(method, params));
        }
    });
}

#[test]
fn a_client_that_reads_again_gets_every_answer() {
    let project = project();
    for method in ["tools/list", "ping"] {
        let mut client = Client::silent(&project, &[]);
        client.ask("initialize", mcp_common::hello("2025-11-25", &json!({})));
        let lines = requests(method, &json!({}));
        let taken = flood(&mut client, &lines, 2 << 20);
        client.listen();
        client.raw(&lines[taken % lines.len()..]);
        for _ in 0..=1_000 * (taken / lines.len() + 1) {
            client.wait_for("an answer", |message| message["id"].is_i64());
        }
        assert_eq!(client.rest(), Vec::<Value>::new());
        client.still_works();
        assert_eq!(client.end(), Some(0));
    }
}

#[test]
fn what_a_client_has_begun_ends_with_it() {
    let project = project();
    if !runs_commands(&project) {
        return skip("no command can be run here");
    }
    let mark = mark();
    let tree = format!("sleep {mark} & setsid sleep {mark} & (sleep {mark}; true); true");
    type Leaves = fn(&mut Client);
    let ways: &[(&str, Leaves)] = &[
        ("closes standard input", |client| client.close()),
        ("closes both streams", |client| {
            client.close();
            client.deafen();
        }),
        ("asks the server to end", |client| client.terminate()),
        ("breaks off in the middle of a line", |client| {
            client.raw(b"{\"jsonrpc\":\"2.0\",\"id\":");
            client.close();
        }),
    ];
    for (way, leave) in ways {
        let mut client = Client::open(&project, &[], &json!({}));
        client.begin("shell", json!({ "command": tree }));
        let job = client.tool("shell", json!({ "command": tree, "background": true }));
        assert_eq!(job["structuredContent"]["job"], 1, "{job}");
        has_begun(&mark, 6);
        let start = Instant::now();
        leave(&mut client);
        assert_eq!(client.ended(), Some(0), "{way}: {}", client.said());
        assert!(start.elapsed() < Duration::from_secs(120), "{way}: {:?}", start.elapsed());
        all_ended(&mark);
    }
    // A server that is killed leaves nothing either.
    let mut client = Client::open(&project, &[], &json!({}));
    client.begin("shell", json!({ "command": tree }));
    client.begin("shell", json!({ "command": tree, "background": true }));
    has_begun(&mark, 6);
    drop(client);
    all_ended(&mark);
}

#[test]
fn a_client_that_is_killed_takes_all_with_it() {
    let project = project();
    if !runs_commands(&project) {
        return skip("no command can be run here");
    }
    let mark = mark();
    let lines = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize",
                "params": mcp_common::hello("2025-11-25", &json!({})) }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
                "params": { "name": "shell", "arguments": { "command": format!("sleep {mark}") } } }),
    ];
    project.put("lines", format!("{}\n{}\n", lines[0], lines[1]));
    // The client is a shell with the server at both ends of its pipes.
    let script = "mkfifo to from; \"$0\" mcp <to >from & echo $! >server; \
                  exec 3>to 4<from; cat lines >&3; cat <&4 3>&- >/dev/null";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(project.program());
    project.prepare(&mut command);
    command.stderr(Stdio::null());
    let mut shell = command.spawn().unwrap();
    has_begun(&mark, 1);
    let server: u32 = project.read("server").trim().parse().unwrap();
    shell.kill().unwrap();
    shell.wait().unwrap();
    // Its `cat` still reads, but nobody writes any more.
    all_ended(&mark);
    eventually("the end of the server", || {
        (!std::path::Path::new(&format!("/proc/{server}/fd/0")).exists()).then_some(())
    });
}

#[test]
fn nothing_is_left_open_after_many_calls() {
    let project = project();
    if !runs_commands(&project) {
        return skip("no command can be run here");
    }
    let mut client = Client::open(&project, &[], &json!({}));
    let mut seen = BTreeMap::new();
    for round in 0..3 {
        for at in 0..40 {
            let id = client.begin("shell", json!({ "command": "true" }));
            if at % 2 == 0 {
                client.tell("notifications/cancelled", json!({ "requestId": id }));
            } else {
                client.answer_to(id);
            }
            client.call("resources/read", json!({ "uri": "zonekeep:///input/a.txt" }));
            client.call("resources/subscribe", json!({ "uri": "zonekeep:///input/a.txt" }));
            client.call("resources/unsubscribe", json!({ "uri": "zonekeep:///input/a.txt" }));
        }
        client.rest();
        seen.insert(round, client.open_files());
    }
    assert!(seen[&2] <= seen[&0] + 2, "{seen:?}");
    // No child is left that nobody waits for.
    let children = format!("/proc/{0}/task/{0}/children", client.pid());
    eventually("the end of its children", || {
        let left = std::fs::read_to_string(&children).unwrap_or_default();
        left.trim().is_empty().then_some(())
    });
    assert_eq!(client.end(), Some(0));
}
