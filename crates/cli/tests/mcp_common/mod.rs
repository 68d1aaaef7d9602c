//! A client of `zonekeep mcp` that knows nothing but lines of JSON.

#![allow(dead_code, unreachable_pub, reason = "not every test needs all of it")]

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zonekeep_testkit::{Project, eventually};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

/// How long an answer may take.
pub const SOON: Duration = Duration::from_secs(120);

pub const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    ask: { path: ./ask, mode: rw, approval: { read: preApproved, write: ask, delete: ask } }
    input: { path: ./in, mode: ro }
    work: { path: ./work, mode: rw, approval: { write: preApproved } }
shell:
  default: preApproved
  rules:
    - { pattern: 'git push *', approval: ask }
";

pub fn project() -> Project {
    Project::with_config(PROGRAM, CONFIG)
        .file("ask/a.txt", "one\n")
        .file("in/a.txt", "input\n")
        .dir("work")
}

/// A server, and the client's ends of its streams.
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    /// Present until something reads it.
    stdout: Option<ChildStdout>,
    lines: Option<Receiver<Value>>,
    kept: VecDeque<Value>,
    said: Arc<Mutex<String>>,
    next: i64,
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the capabilities of a client that can show forms.
pub fn forms() -> Value {
    json!({ "elicitation": { "form": {} } })
}

/// Returns what a client of the newer era sends with every request.
pub fn meta(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "raw", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

pub fn hello(version: &str, capabilities: &Value) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": capabilities,
        "clientInfo": { "name": "raw", "version": "1" },
    })
}

impl Client {
    /// Starts a server that nobody has spoken to yet.
    pub fn start(project: &Project, flags: &[&str]) -> Self {
        let mut client = Client::silent(project, flags);
        client.listen();
        client
    }

    /// Starts a server whose answers are not read until [`Client::listen`].
    pub fn silent(project: &Project, flags: &[&str]) -> Self {
        let mut command = project.command();
        command.arg("mcp").args(flags);
        Client::of(command)
    }

    pub fn of(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let (mut stderr, heard) = (child.stderr.take().unwrap(), Arc::clone(&said));
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = stderr.read(&mut bytes) {
                heard.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        Client { child, stdin, stdout, lines: None, kept: VecDeque::new(), said, next: 0 }
    }

    /// Begins to read. Whatever is no JSON on a line of its own fails the test.
    pub fn listen(&mut self) {
        let stdout = BufReader::new(self.stdout.take().unwrap());
        let (tell, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.split(b'\n').map_while(Result::ok) {
                let message = serde_json::from_slice(&line)
                    .unwrap_or_else(|_| json!({ "no message": String::from_utf8_lossy(&line) }));
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
        self.lines = Some(lines);
    }

    /// Starts a server and opens a session of the older era.
    pub fn open(project: &Project, flags: &[&str], capabilities: &Value) -> Self {
        let mut client = Client::start(project, flags);
        client.greet(capabilities);
        client
    }

    pub fn greet(&mut self, capabilities: &Value) -> Value {
        let opened = self.call("initialize", hello("2025-11-25", capabilities));
        assert_eq!(opened["result"]["serverInfo"]["name"], "zonekeep", "{opened}");
        self.tell("notifications/initialized", json!({}));
        opened
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes bytes as they are; a server that is gone is no failure here.
    pub fn raw(&mut self, bytes: &[u8]) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(bytes).and_then(|()| stdin.flush());
        }
    }

    pub fn send(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }

    /// Sends a request; returns its id.
    pub fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Sends a notification.
    pub fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    pub fn answer(&mut self, request: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }));
    }

    /// Returns the next message that is wanted; the others stay.
    #[track_caller]
    pub fn wait_for(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        self.within(SOON, wanted)
            .unwrap_or_else(|| panic!("never came: {what}; {:?}; {}", self.kept, self.said()))
    }

    /// Returns the next message that is wanted, if it comes in time.
    pub fn within(&mut self, time: Duration, wanted: impl Fn(&Value) -> bool) -> Option<Value> {
        if let Some(at) = self.kept.iter().position(&wanted) {
            return self.kept.remove(at);
        }
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.as_ref().unwrap().recv_timeout(left) {
                Ok(message) if wanted(&message) => return Some(message),
                Ok(message) => self.kept.push_back(message),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Returns everything that was said and not asked for so far.
    pub fn rest(&mut self) -> Vec<Value> {
        let lines = self.lines.as_ref().unwrap();
        self.kept.extend(std::iter::from_fn(|| lines.try_recv().ok()));
        self.kept.drain(..).collect()
    }

    #[track_caller]
    pub fn answer_to(&mut self, id: i64) -> Value {
        self.wait_for(&format!("the answer to {id}"), |message| {
            message["id"] == id && message.get("method").is_none()
        })
    }

    /// Sends a request and returns the whole answer.
    #[track_caller]
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer_to(id)
    }

    /// Calls a tool and returns its result.
    #[track_caller]
    pub fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let id = self.begin(name, arguments);
        self.answer_to(id)["result"].clone()
    }

    /// Calls a tool; returns the id.
    pub fn begin(&mut self, name: &str, arguments: Value) -> i64 {
        self.ask("tools/call", json!({ "name": name, "arguments": arguments }))
    }

    /// Returns the question that the server asks next.
    #[track_caller]
    pub fn question(&mut self) -> Value {
        self.wait_for("a question", |message| message["method"] == "elicitation/create")
    }

    /// The control: an ordinary call still works.
    #[track_caller]
    pub fn still_works(&mut self) {
        let read = self.tool("read_file", json!({ "path": "/input/a.txt" }));
        assert_eq!(read["content"][0]["text"], "input\n", "{read}; {}", self.said());
    }

    /// Returns what the server has said on standard error.
    pub fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    pub fn close(&mut self) {
        self.stdin = None;
    }

    pub fn stdin(&mut self) -> &mut ChildStdin {
        self.stdin.as_mut().unwrap()
    }

    /// Reads no more.
    pub fn deafen(&mut self) {
        self.lines = None;
    }

    /// Asks the server to end.
    pub fn terminate(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }

    /// Closes standard input, and returns the exit status.
    #[track_caller]
    pub fn end(&mut self) -> Option<i32> {
        self.close();
        self.ended()
    }

    #[track_caller]
    pub fn ended(&mut self) -> Option<i32> {
        eventually("the end of the server", || self.child.try_wait().unwrap()).code()
    }

    /// Returns a number of the server's from `/proc`, such as `VmRSS` in KiB.
    pub fn status(&self, name: &str) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name}:"))).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    pub fn open_files(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap().count()
    }
}

/// Returns the text of a tool's result.
#[track_caller]
pub fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}

/// Returns how many processes there are whose command line contains `mark`.
pub fn running(mark: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).replace('\0', " ").contains(mark)).count()
}

/// Returns an argument of `sleep` that no other process has.
pub fn mark() -> String {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    format!("7{:06}.{count:03}1", std::process::id())
}

#[track_caller]
pub fn all_ended(mark: &str) {
    eventually("the end of what was begun", || (running(mark) == 0).then_some(()));
}

#[track_caller]
pub fn has_begun(mark: &str, many: usize) {
    eventually("the command", || (running(&format!("sleep {mark}")) >= many).then_some(()));
}
