//! `zonekeep mcp wrap`: another server inside the sandbox, by the real program.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zonekeep_testkit::{PATIENCE, Project, Stopped, eventually, program, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");
const SERVER: &str = include_str!("fixtures/mcp_server.py");

const CONFIG: &str = "sandbox:
  mode: direct
  zones:
    tools: { path: ./tools, mode: ro }
    data: { path: ./data, mode: rw }
  working_dir: /data
";

fn project() -> Project {
    Project::with_config(PROGRAM, CONFIG)
        .file("tools/server.py", SERVER)
        .file("data/a.txt", "data\n")
        .file("secret.txt", "secret\n")
}

/// Returns whether servers in Python can run here.
fn has_python() -> bool {
    let found = program("python3").is_some();
    if !found {
        skip("python3 is not installed");
    }
    found
}

/// A server with its client's ends of the pipes.
struct Session {
    child: Stopped,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    sent: u64,
}

impl Session {
    fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (to, from) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Session { child: Stopped(child), to, from, sent: 0 }
    }

    /// Starts the server inside the sandbox, from a zone.
    fn wrapped(project: &Project, flags: &[&str], server: &[&str]) -> Self {
        let mut command = Command::new(PROGRAM);
        project.prepare(&mut command);
        command.args(["mcp", "wrap"]).args(flags).args(["--", "python3", "/tools/server.py"]);
        Session::start(command.args(server))
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.sent += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.sent, "method": method, "params": params});
        writeln!(self.to.as_mut().unwrap(), "{request}").unwrap();
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        let reply: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"));
        assert_eq!(reply["id"], self.sent, "{reply}");
        reply["result"].clone()
    }

    fn begin(&mut self) {
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        assert_eq!(self.ask("initialize", params)["serverInfo"]["name"], "fixture");
        let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        writeln!(self.to.as_mut().unwrap(), "{note}").unwrap();
    }

    /// Calls a tool; `Err` is what it failed with.
    fn call(&mut self, name: &str, arguments: Value) -> Result<String, String> {
        let result = self.ask("tools/call", json!({"name": name, "arguments": arguments}));
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        if result["isError"] == json!(true) { Err(text) } else { Ok(text) }
    }

    /// Closes the pipe to the server; returns how it ended, what else it printed
    /// and what was said beside.
    fn hang_up(mut self) -> (i32, String, String) {
        drop(self.to.take());
        self.end()
    }

    fn end(mut self) -> (i32, String, String) {
        let status = ended(&mut self.child.0);
        let (mut out, mut err) = (String::new(), String::new());
        self.from.read_to_string(&mut out).unwrap();
        self.child.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (status, out, err)
    }

    fn signal(&self, name: &str) {
        let pid = self.child.0.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }
}

fn ended(child: &mut Child) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().unwrap_or_else(|| 128 + status.signal().unwrap());
        }
        assert!(start.elapsed() < PATIENCE, "it does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns whether a process runs whose arguments have this mark.
fn runs(mark: &str) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        let list = Command::new("ps").args(["-axo", "args"]).output().unwrap();
        return String::from_utf8_lossy(&list.stdout).contains(mark);
    };
    processes.flatten().any(|process| {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        line.split(|&byte| byte == 0).any(|word| word == mark.as_bytes())
    })
}

/// Returns a number of seconds that no other test sleeps for.
fn mark(number: u32) -> String {
    format!("{}.{}", 9_000 + number, std::process::id())
}

/// Accepts connections on loopback and greets.
fn greeter() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(16).flatten() {
            let mut stream = stream;
            let _ = stream.write_all(b"hello");
        }
    });
    port
}

#[test]
fn a_wrapped_server_answers_and_gets_nothing_but_the_zones() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    if !has_python() {
        return;
    }
    let project = project();
    let (secret, outside) = (project.path("secret.txt"), project.beside("outside.txt"));
    let port = greeter();
    // What the server can do without, and cannot do inside.
    let attempts = || {
        [
            ("read", json!({"path": &secret}), "secret\n"),
            ("write", json!({"path": &outside, "text": "x"}), "written"),
            ("connect", json!({"port": port}), "hello"),
        ]
    };
    let mut free = Command::new("python3");
    project.prepare(free.arg(project.path("tools/server.py")));
    let mut free = Session::start(&mut free);
    free.begin();
    for (tool, arguments, expected) in attempts() {
        assert_eq!(free.call(tool, arguments), Ok(expected.to_owned()), "control: {tool}");
    }
    assert_eq!(free.hang_up().0, 0);
    std::fs::remove_file(&outside).unwrap();

    let mut wrapped = Session::wrapped(&project, &[], &[]);
    wrapped.begin();
    let tools = wrapped.ask("tools/list", json!({}));
    assert_eq!(tools["tools"].as_array().unwrap().len(), 5, "{tools}");
    for (tool, arguments, _) in attempts() {
        let got = wrapped.call(tool, arguments);
        assert!(got.is_err(), "{tool}: {got:?}");
    }
    assert!(!outside.exists());
    // The zones are there, with their modes.
    assert_eq!(wrapped.call("read", json!({"path": "/data/a.txt"})), Ok("data\n".to_owned()));
    let new = json!({"path": "/data/new.txt", "text": "new"});
    assert_eq!(wrapped.call("write", new), Ok("written".to_owned()));
    assert_eq!(project.read("data/new.txt"), "new");
    let own = json!({"path": "/tools/server.py", "text": ""});
    assert!(wrapped.call("write", own).is_err());
    let (status, out, err) = wrapped.hang_up();
    assert_eq!((status, out.as_str()), (0, ""), "{err}");
    assert_eq!(err.lines().next(), Some("ready"), "what it says beside is passed on: {err}");

    let log = project.log_lines().join("\n");
    assert!(log.contains("python3 /tools/server.py"), "{log}");
}

#[test]
fn a_worker_file_narrows_what_the_server_gets() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    if !has_python() {
        return;
    }
    let project = project().file(
        "reader.worker",
        "---\nname: reader\nsandbox:\n  zones:\n    - { name: tools, mode: ro }\n    - { name: data, mode: ro }\n---\nReads.\n",
    );
    let mut wrapped = Session::wrapped(&project, &["--worker", "reader.worker"], &[]);
    wrapped.begin();
    assert_eq!(wrapped.call("read", json!({"path": "/data/a.txt"})), Ok("data\n".to_owned()));
    assert!(wrapped.call("write", json!({"path": "/data/b.txt", "text": "x"})).is_err());
    assert_eq!(wrapped.hang_up().0, 0);
    assert!(!project.exists("data/b.txt"));
}

#[test]
fn all_ends_when_the_client_hangs_up() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    if !has_python() {
        return;
    }
    let cases: [(&[&str], i32, bool); 2] = [
        // It ends by itself, and what it left is ended.
        (&[], 0, false),
        // It does not, and is ended after two seconds.
        (&["deaf"], 137, true),
    ];
    for (number, (server, status, slow)) in cases.into_iter().enumerate() {
        let project = project();
        let mark = mark(number as u32);
        let mut wrapped = Session::wrapped(&project, &[], server);
        wrapped.begin();
        wrapped.call("daemonise", json!({"mark": &mark})).unwrap();
        eventually("the daemon", || runs(&mark).then_some(()));
        let start = Instant::now();
        let (got, out, err) = wrapped.hang_up();
        assert_eq!((got, out.as_str()), (status, ""), "{err}");
        assert!(!slow || start.elapsed() >= Duration::from_secs(2), "{:?}", start.elapsed());
        assert!(!runs(&mark), "nothing is left");
    }
}

#[test]
fn signals_are_passed_on_and_then_all_ends() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    if !has_python() {
        return;
    }
    for (number, (signal, said)) in
        [("-TERM", "signal 15"), ("-INT", "signal 2")].iter().enumerate()
    {
        let project = project();
        let mark = mark(10 + number as u32);
        let mut wrapped = Session::wrapped(&project, &[], &["deaf"]);
        wrapped.begin();
        wrapped.call("daemonise", json!({"mark": &mark})).unwrap();
        wrapped.signal(signal);
        let (status, _, err) = wrapped.end();
        assert_eq!(status, 137, "{signal}: {err}");
        assert!(err.contains(said), "{signal}: {err}");
        assert!(!runs(&mark), "{signal}: nothing is left");
    }
}

#[test]
fn all_ends_when_zonekeep_is_killed() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    if !has_python() {
        return;
    }
    let project = project();
    let mark = mark(20);
    let mut wrapped = Session::wrapped(&project, &[], &["deaf"]);
    wrapped.begin();
    wrapped.call("daemonise", json!({"mark": &mark})).unwrap();
    eventually("the daemon", || runs(&mark).then_some(()));
    wrapped.signal("-KILL");
    assert_eq!(ended(&mut wrapped.child.0), 137);
    eventually("the end of all", || (!runs(&mark)).then_some(()));
}

#[test]
fn a_client_that_speaks_over_a_socket_is_seen_to_hang_up() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    if !has_python() {
        return;
    }
    // Some clients give servers sockets, and close only their own direction.
    let project = project();
    let (own, other) = UnixStream::pair().unwrap();
    let mut command = Command::new(PROGRAM);
    project.prepare(&mut command);
    command.args(["mcp", "wrap", "--", "python3", "/tools/server.py", "deaf"]);
    command.stdin(Stdio::from(OwnedFd::from(other))).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = Stopped(command.spawn().unwrap());
    drop(command);
    let mut ready = String::new();
    BufReader::new(child.0.stderr.take().unwrap()).read_line(&mut ready).unwrap();
    assert_eq!(ready, "ready\n");
    own.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(ended(&mut child.0), 137);
}

#[test]
fn what_cannot_start_says_so_beside_and_never_on_the_output() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let cases: [(&[&str], i32); 4] = [
        (&["mcp", "wrap", "--", "/no/such/server"], 127),
        (&["mcp", "wrap", "--limit", "memory=x", "--", "true"], 2),
        (&["mcp", "wrap", "--worker", "no.worker", "--", "true"], 125),
        (&["mcp", "wrap"], 2),
    ];
    for (args, status) in cases {
        let run = project.zonekeep(args);
        assert_eq!((run.exit, run.stdout.as_str()), (status, ""), "{args:?}: {run}");
        assert!(!run.stderr.is_empty(), "{args:?}");
    }
    let run = project.zonekeep(["mcp", "wrap", "--", "sh", "-c", "exit 7"]);
    assert_eq!((run.exit, run.stdout.as_str()), (7, ""), "{run}");
}

#[test]
fn a_server_that_is_started_by_hand_says_what_it_is() {
    let project = project();
    let Some(terminal) = project.zonekeep_at_terminal(["mcp"]) else {
        return skip("no terminal can be made here");
    };
    let (status, _, screen) = terminal.end();
    assert_eq!(status, 2, "{screen}");
    for part in ["stdin is a terminal", "zonekeep mcp install", "zonekeep tool"] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
}

#[test]
fn a_server_never_gets_a_terminal() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let project = project();
    let args = ["mcp", "wrap", "--", "sh", "-c", "test -t 2"];
    let Some(terminal) = project.zonekeep_at_terminal(args) else {
        return skip("no terminal can be made here");
    };
    let (status, _, screen) = terminal.end();
    assert_eq!(status, 2, "{screen}");
    assert!(screen.contains("a server speaks with a client, not with a terminal"), "{screen}");
    // Only standard error is one: it is passed on by a pipe.
    let script = format!(
        "{PROGRAM} mcp wrap -- sh -c 'test -t 2 && echo terminal >&2 || echo pipe >&2' </dev/null | cat"
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]);
    let Some(terminal) = project.at_terminal(&shell) else { return };
    let (_, _, screen) = terminal.end();
    assert!(screen.contains("pipe"), "{screen}");
}
