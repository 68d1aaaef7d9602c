//! `zonekeep mcp --http`: who may talk to the port, and what they get.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use crate::mcp_common::{Client, SOON, all_ended, forms, has_begun, hello, mark, meta, project};
use serde_json::{Value, json};
use zonekeep_testkit::{Project, eventually};

/// A server on a port.
struct Port {
    server: Client,
    port: u16,
    token: String,
}

/// What a request is answered with.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    messages: Vec<Value>,
    text: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Port {
    fn start(project: &Project, flags: &[&str]) -> Self {
        Port::at(project, "127.0.0.1:0", flags)
    }

    fn at(project: &Project, addr: &str, flags: &[&str]) -> Self {
        let mut command = project.command();
        let file = project.beside("token");
        command.args(["mcp", "--http", addr, "--token-file"]).arg(&file).args(flags);
        let server = Client::of(command);
        let port = eventually("the port", || {
            let said = server.said();
            let (_, rest) = said.split_once("listening on http://")?;
            rest.split_once("/mcp")?.0.rsplit_once(':')?.1.parse().ok()
        });
        let token = fs::read_to_string(file).unwrap().trim().to_owned();
        Port { server, port, token }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream
    }

    /// Sends bytes as they are.
    fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect();
        // A server that has heard enough may hang up before the end.
        let _ = stream.write_all(request);
        read_answer(stream)
    }

    /// Returns the lines of a head that is in order.
    fn head(&self) -> Vec<String> {
        vec![
            format!("Host: 127.0.0.1:{}", self.port),
            format!("Authorization: Bearer {}", self.token),
            "Content-Type: application/json".to_owned(),
            "Accept: application/json, text/event-stream".to_owned(),
        ]
    }

    fn request(&self, line: &str, head: &[String], body: &str) -> Vec<u8> {
        let (head, length) = (head.join("\r\n"), body.len());
        format!("{line} HTTP/1.1\r\n{head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")
            .into_bytes()
    }

    /// Posts a message, with more lines in its head.
    fn post(&self, more: &[String], message: &Value) -> Answer {
        let head = [self.head(), more.to_vec()].concat();
        self.raw(&self.request("POST /mcp", &head, &message.to_string()))
    }

    /// Opens a session of the older era; returns what its requests have in their head.
    fn session(&self, capabilities: &Value) -> Vec<String> {
        let opened = self.post(&[], &request(1, "initialize", hello("2025-11-25", capabilities)));
        assert_eq!(opened.status, 200, "{opened:?}");
        let id = opened.header("mcp-session-id").unwrap();
        let head =
            vec![format!("Mcp-Session-Id: {id}"), "Mcp-Protocol-Version: 2025-11-25".to_owned()];
        let notice = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.post(&head, &notice).status, 202);
        head
    }

    /// The control: an ordinary call still works.
    #[track_caller]
    fn still_works(&self) {
        let call = request(9, "tools/call", read("/input/a.txt"));
        let answer = self.post(&self.session(&json!({})), &call);
        let text = &answer.messages.last().unwrap()["result"]["content"][0]["text"];
        assert_eq!(text, "input\n", "{answer:?}");
    }
}

fn read_answer(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    let messages = body
        .lines()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ").unwrap_or(line)).ok());
    let messages = messages.filter(Value::is_object).collect();
    Answer { status, head: head.to_owned(), messages, text: body.to_owned() }
}

fn request(id: i64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn read(path: &str) -> Value {
    json!({ "name": "read_file", "arguments": { "path": path } })
}

fn modern(method: &str, name: &str) -> Vec<String> {
    let mut head =
        vec!["Mcp-Protocol-Version: 2026-07-28".to_owned(), format!("Mcp-Method: {method}")];
    if !name.is_empty() {
        head.push(format!("Mcp-Name: {name}"));
    }
    head
}

#[test]
fn only_who_has_the_token_and_knows_the_name_gets_in() {
    let project = project();
    let port = Port::start(&project, &["--allow-origin", "https://app.example"]);
    let body = request(1, "initialize", hello("2025-11-25", &json!({}))).to_string();
    let host = format!("Host: 127.0.0.1:{}", port.port);
    let token = format!("Authorization: Bearer {}", port.token);
    let wrong = format!("Authorization: Bearer {}", "0".repeat(64));
    let here = port.port;
    let s = str::to_owned;
    let cases: Vec<(&str, Vec<String>, u16)> = vec![
        ("POST /mcp", vec![host.clone(), token.clone()], 200),
        ("POST /mcp", vec![format!("Host: localhost:{here}"), token.clone()], 200),
        ("POST /mcp", vec![host.clone(), token.clone(), s("Origin: https://app.example")], 200),
        // The token.
        ("POST /mcp", vec![host.clone()], 401),
        ("POST /mcp", vec![host.clone(), wrong.clone()], 401),
        ("POST /mcp", vec![host.clone(), s("Authorization: Bearer")], 401),
        ("POST /mcp", vec![host.clone(), format!("Authorization: Basic {}", port.token)], 401),
        ("POST /mcp", vec![host.clone(), format!("Cookie: token={}", port.token)], 401),
        ("POST /mcp", vec![host.clone(), token.clone(), wrong.clone()], 401),
        ("POST /mcp", vec![host.clone(), wrong, token.clone()], 401),
        ("POST /mcp?token=TOKEN", vec![host.clone()], 401),
        ("GET /mcp", vec![host.clone()], 401),
        ("DELETE /mcp", vec![host.clone()], 401),
        ("OPTIONS /mcp", vec![host.clone()], 401),
        ("POST /", vec![host.clone()], 401),
        // Names that lead here without being this server's.
        ("POST /mcp", vec![s("Host: evil.example"), token.clone()], 403),
        ("POST /mcp", vec![format!("Host: evil.example:{here}"), token.clone()], 403),
        ("POST /mcp", vec![format!("Host: 127.0.0.1.evil.example:{here}"), token.clone()], 403),
        ("POST /mcp", vec![s("Host: 127.0.0.1"), token.clone()], 403),
        ("POST /mcp", vec![s("Host: 127.0.0.1:1"), token.clone()], 403),
        ("POST /mcp", vec![format!("Host: 127.0.0.1:{here}@evil.example"), token.clone()], 403),
        ("POST /mcp", vec![s("Host:"), token.clone()], 403),
        ("POST /mcp", vec![token.clone()], 400),
        ("POST /mcp", vec![host.clone(), host.clone(), token.clone()], 400),
        ("POST /mcp", vec![host.clone(), s("Host: evil.example"), token.clone()], 400),
        ("POST http://evil.example/mcp", vec![host.clone(), token.clone()], 403),
        ("POST http://evil.example/mcp", vec![s("Host: evil.example"), token.clone()], 403),
        // Web pages.
        ("POST /mcp", vec![host.clone(), token.clone(), s("Origin: null")], 403),
        ("POST /mcp", vec![host.clone(), token.clone(), s("Origin: https://evil.example")], 403),
        (
            "POST /mcp",
            vec![host.clone(), token.clone(), format!("Origin: http://127.0.0.1:{here}")],
            403,
        ),
        (
            "POST /mcp",
            vec![host.clone(), token.clone(), s("Origin: https://app.example.evil")],
            403,
        ),
        ("POST /mcp", vec![host.clone(), token.clone(), s("Origin:")], 403),
        (
            "POST /mcp",
            vec![host.clone(), token.clone(), s("Origin: https://app.example"), s("Origin: null")],
            403,
        ),
        // Other places.
        ("POST /", vec![host.clone(), token.clone()], 404),
        ("POST /mcp/", vec![host.clone(), token.clone()], 404),
        ("POST /mcp/../mcp", vec![host.clone(), token.clone()], 404),
        ("PUT /mcp", vec![host.clone(), token.clone()], 405),
        ("PATCH /mcp", vec![host.clone(), token.clone()], 405),
        ("OPTIONS /mcp", vec![host.clone(), token], 405),
    ];
    for (line, head, status) in cases {
        let line = line.replace("TOKEN", &port.token);
        let kind =
            ["Content-Type: application/json", "Accept: application/json, text/event-stream"];
        let all = [head.clone(), kind.map(str::to_owned).to_vec()].concat();
        let answer = port.raw(&port.request(&line, &all, &body));
        assert_eq!(answer.status, status, "{line} {head:?}: {answer:?}");
        assert!(!answer.text.contains(&port.token), "{answer:?}");
        if status != 200 {
            assert_eq!(answer.header("mcp-session-id"), None, "{line} {head:?}");
            assert_eq!(answer.header("access-control-allow-origin"), None, "{line} {head:?}");
        }
        if status == 401 {
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        }
    }
    port.still_works();
}

#[test]
fn what_is_no_request_is_answered_or_hung_up_on() {
    let project = project();
    let port = Port::start(&project, &[]);
    let head = port.head();
    let post = |body: &[u8]| {
        let mut bytes = format!(
            "POST /mcp HTTP/1.1\r\n{}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            head.join("\r\n"),
            body.len()
        )
        .into_bytes();
        bytes.extend_from_slice(body);
        port.raw(&bytes)
    };
    let many = format!("[{}0]", "0,".repeat(4_000_000));
    let cases: [(&[u8], u16, i64); 8] = [
        (b"{", 400, -32700),
        (b"\xff\xfe", 400, -32700),
        (b"[]", 400, -32600),
        (b"null", 400, -32600),
        (b"{}", 400, -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}", 400, -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":7}", 400, -32600),
        (many.as_bytes(), 400, -32600),
    ];
    for (body, status, code) in cases {
        let answer = post(body);
        let shown = String::from_utf8_lossy(&body[..body.len().min(60)]);
        assert_eq!(answer.status, status, "{shown}: {answer:?}");
        assert_eq!(answer.messages[0]["error"]["code"], code, "{shown}: {answer:?}");
    }
    assert_eq!(post(&vec![b' '; (16 << 20) + 1]).status, 413);
    let ping = request(1, "ping", json!({})).to_string();
    assert_eq!(post(ping.as_bytes()).status, 400, "a session is needed");
    let mut odd = port.head();
    odd[2] = "Content-Type: text/plain".to_owned();
    assert_eq!(port.raw(&port.request("POST /mcp", &odd, &ping)).status, 415);
    odd = port.head();
    odd[3] = "Accept: text/html".to_owned();
    assert_eq!(port.raw(&port.request("POST /mcp", &odd, &ping)).status, 406);
    // Heads that are too long, broken, or smuggle a second request.
    let long = format!("POST /mcp HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
    let lines = format!("POST /mcp HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(10_000));
    let smuggled = format!(
        "POST /mcp HTTP/1.1\r\n{}\r\nContent-Length: 5\r\nContent-Length: 50\r\n\r\nhello",
        head.join("\r\n")
    );
    for request in [&long, &lines, &smuggled, "nonsense\r\n\r\n", "\0\0\0\0\r\n\r\n"] {
        let status = port.raw(request.as_bytes()).status;
        assert!(
            [0, 400, 414, 431].contains(&status),
            "{status}: {}",
            &request[..40.min(request.len())]
        );
    }
    port.still_works();
    assert!(port.server.status("VmHWM") < 200 * 1024, "{} KiB", port.server.status("VmHWM"));
}

#[test]
fn slow_and_idle_connections_end_and_keep_nobody_out_for_long() {
    let project = project();
    let port = Port::start(&project, &[]);
    let start = Instant::now();
    let mut slow = port.connect();
    slow.write_all(b"POST /mcp HTTP/1.1\r\nHost: ").unwrap();
    let idle: Vec<TcpStream> = (0..300).map(|_| port.connect()).collect();
    port.still_works();
    assert!(start.elapsed() < Duration::from_secs(90), "{:?}", start.elapsed());
    // A head that never ends is hung up on.
    let mut rest = Vec::new();
    let _ = slow.read_to_end(&mut rest);
    assert!(start.elapsed() < Duration::from_secs(90), "{:?}", start.elapsed());
    drop(idle);
    port.still_works();
    let files = port.server.open_files();
    assert!(files < 64, "{files} files are still open");
}

#[test]
fn sessions_cannot_be_guessed_and_end_when_they_are_deleted() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let port = Port::start(&project, &[]);
    let mark = mark();
    let head = port.session(&json!({}));
    let ping = request(5, "ping", json!({}));
    assert_eq!(port.post(&head, &ping).messages.last().unwrap()["result"], json!({}));
    let guessed = |id: &str| vec![format!("Mcp-Session-Id: {id}"), head[1].clone()];
    for id in ["0", "", "00000000-0000-0000-0000-000000000000", "../x", &"a".repeat(5_000)] {
        let answer = port.post(&guessed(id), &ping);
        assert!([400, 404].contains(&answer.status), "{id}: {answer:?}");
    }
    // What runs in a session that is deleted ends soon.
    let sleeps = json!({ "name": "shell", "arguments": { "command": format!("sleep {mark}") } });
    let mut stream = port.connect();
    let all = [port.head(), head.clone()].concat();
    let body = request(6, "tools/call", sleeps).to_string();
    stream.write_all(&port.request("POST /mcp", &all, &body)).unwrap();
    has_begun(&mark, 1);
    let gone = port.raw(&port.request("DELETE /mcp", &all, ""));
    assert!([200, 204].contains(&gone.status), "{gone:?}");
    assert_eq!(port.post(&head, &ping).status, 404);
    all_ended(&mark);
    // There is an end to sessions too, and those that are spoken in are not given up.
    let heads: Vec<_> = (0..64).map(|_| port.session(&json!({}))).collect();
    let hello = request(1, "initialize", hello("2025-11-25", &json!({})));
    assert_eq!(port.post(&[], &hello).status, 503);
    assert_eq!(port.post(&heads[0], &ping).status, 200);
    let call = request(7, "tools/call", {
        let mut call = read("/input/a.txt");
        call["_meta"] = meta(&json!({}));
        call
    });
    let answer = port.post(&modern("tools/call", "read_file"), &call);
    assert_eq!(answer.messages.last().unwrap()["result"]["isError"], false, "{answer:?}");
}

/// Reads a stream of events until one is wanted.
fn event(lines: &mut impl BufRead, wanted: impl Fn(&Value) -> bool) -> Value {
    let mut line = String::new();
    loop {
        line.clear();
        assert_ne!(lines.read_line(&mut line).unwrap(), 0, "the stream has ended");
        let message = line.strip_prefix("data: ").and_then(|data| serde_json::from_str(data).ok());
        if let Some(message) = message.filter(|message| wanted(message)) {
            return message;
        }
    }
}

#[test]
fn both_eras_are_asked() {
    let project = project();
    let port = Port::start(&project, &[]);
    let write =
        json!({ "name": "write_file", "arguments": { "path": "/ask/a.txt", "content": "two\n" } });
    // The older one, while the call waits.
    let head = port.session(&forms());
    let mut stream = port.connect();
    let all = [port.head(), head.clone()].concat();
    let body = request(5, "tools/call", write.clone()).to_string();
    stream.write_all(&port.request("POST /mcp", &all, &body)).unwrap();
    let mut lines = BufReader::new(stream);
    let question = event(&mut lines, |message| message["method"] == "elicitation/create");
    let once = json!({ "action": "accept", "content": { "decision": "once" } });
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": once });
    // Another session cannot answer.
    let other = port.session(&forms());
    port.post(&other, &answer);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(project.read("ask/a.txt"), "one\n");
    assert_eq!(port.post(&head, &answer).status, 202);
    let done = event(&mut lines, |message| message["id"] == 5 && message.get("result").is_some());
    assert_eq!(done["result"]["isError"], false, "{done}");
    assert_eq!(project.read("ask/a.txt"), "two\n");
    // The newer one, by a result.
    project.put("ask/a.txt", "one\n");
    let mut call = write;
    call["_meta"] = meta(&forms());
    let head = modern("tools/call", "write_file");
    let asked = port.post(&head, &request(1, "tools/call", call.clone()));
    let asked = asked.messages.last().unwrap()["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    call["requestState"] = asked["requestState"].clone();
    call["inputResponses"] = json!({ "approve": once });
    let done = port.post(&head, &request(2, "tools/call", call.clone()));
    assert_eq!(done.messages.last().unwrap()["result"]["isError"], false, "{done:?}");
    assert_eq!(project.read("ask/a.txt"), "two\n");
    let again = port.post(&head, &request(3, "tools/call", call));
    assert_eq!(again.messages.last().unwrap()["error"]["code"], -32602, "{again:?}");
}

#[test]
fn commands_end_with_their_client_or_the_server() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let mut port = Port::start(&project, &[]);
    let mark = mark();
    let mut sleeps =
        json!({ "name": "shell", "arguments": { "command": format!("sleep {mark}") } });
    sleeps["_meta"] = meta(&json!({}));
    let all = [port.head(), modern("tools/call", "shell")].concat();
    let body = request(6, "tools/call", sleeps.clone()).to_string();
    let begin = |port: &Port| {
        let mut stream = port.connect();
        stream.write_all(&port.request("POST /mcp", &all, &body)).unwrap();
        has_begun(&mark, 1);
        stream
    };
    // A client of the newer era that hangs up has had enough.
    drop(begin(&port));
    all_ended(&mark);
    port.still_works();
    let _stream = begin(&port);
    port.server.terminate();
    assert_eq!(port.server.ended(), Some(0));
    all_ended(&mark);
}

#[test]
fn a_token_file_is_needed_and_has_to_be_private() {
    let project = project();
    let file = project.beside("token");
    let path = file.to_str().unwrap();
    let without = project.zonekeep(["mcp", "--http", "127.0.0.1:0"]);
    assert!(without.exit == 2 && without.stderr.contains("--token-file"), "{without}");
    let alone = project.zonekeep(["mcp", "--token-file", path]);
    assert_eq!((alone.exit, file.exists()), (2, false), "{alone}");
    let refused = |says: &str| {
        let run = project.zonekeep(["mcp", "--http", "127.0.0.1:0", "--token-file", path]);
        assert!(run.exit == 125 && run.stderr.contains(says), "{says}: {run}");
    };
    for (content, mode, says) in [
        ("0123456789abcdef0123456789abcdef", 0o644, "others can read or write it"),
        ("0123456789abcdef0123456789abcdef", 0o620, "others can read or write it"),
        ("short", 0o600, "at least 32 characters"),
        ("", 0o600, "at least 32 characters"),
    ] {
        fs::write(&file, content).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        refused(says);
    }
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    refused("a file of yours");
    fs::remove_dir(&file).unwrap();
    let port = Port::start(&project, &[]);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(port.token.len() >= 32 && !port.server.said().contains(&port.token));
    assert!(!port.server.said().contains("warning"), "{}", port.server.said());
    // Where an agent could read it, it would be the agent's too.
    let inside = project.path("token-dir");
    let zone = format!("tokens={}:ro", inside.display());
    fs::create_dir(&inside).unwrap();
    let within = inside.join("new/token");
    let args = ["mcp", "--http", "127.0.0.1:0", "--zone", &zone, "--token-file"];
    let run = project.zonekeep(args.iter().copied().chain([within.to_str().unwrap()]));
    assert!(run.exit == 125 && run.stderr.contains("the zone 'tokens'"), "{run}");
    assert_eq!(fs::read_dir(&inside).unwrap().count(), 0);
    for flags in [["--allow-host", "a b"], ["--allow-origin", "example.org"]] {
        let args = ["mcp", "--http", "127.0.0.1:0", "--token-file", path];
        let run = project.zonekeep(args.iter().chain(&flags));
        assert_eq!(run.exit, 2, "{flags:?}: {run}");
    }
}

#[test]
fn an_address_that_others_can_reach_is_warned_about() {
    let project = project();
    let port = Port::at(&project, "0.0.0.0:0", &["--allow-host", "127.0.0.1"]);
    assert!(
        port.server.said().contains("can be reached from other machines"),
        "{}",
        port.server.said()
    );
    port.still_works();
    let body = request(1, "initialize", hello("2025-11-25", &json!({}))).to_string();
    let mut head = port.head();
    head[0] = format!("Host: localhost:{}", port.port);
    assert_eq!(port.raw(&port.request("POST /mcp", &head, &body)).status, 403);
}
