//! `zonekeep mcp` against the reference file server of the Model Context Protocol:
//! a file that is read, the first answer, many calls at a time, and memory. Prints
//! ratios; see `measure`.
//!
//! `benches/peers/install` installs the reference server.

// A bench may fail loudly, and its table is what it is for.
#![allow(clippy::unwrap_used, clippy::print_stdout, unreachable_pub)]

#[path = "../../zonekeep/benches/measure/mod.rs"]
mod measure;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Instant;

use measure::{Options, Pair, Table, side_by_side};
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");
const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/peers");
const PEER: &str = "node_modules/.bin/mcp-server-filesystem";
const MISSING: &str = "it is not installed (benches/peers/install)";

fn main() {
    let options = Options::of_process();
    let mut table = Table::new(&options);
    let bench = Bench::new();
    reads(&options, &mut table, &bench);
    starts(&options, &mut table, &bench);
    at_a_time(&options, &mut table, &bench);
    memory(&options, &mut table, &bench);
    table.print();
}

/// A directory with a file of 4 KiB.
struct Bench {
    _temp: tempfile::TempDir,
    base: PathBuf,
    peer: Option<PathBuf>,
}

impl Bench {
    fn new() -> Self {
        let temp = tempfile::Builder::new().prefix("zonekeep-bench-").tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        for name in ["files", "home", "project"] {
            fs::create_dir(base.join(name)).unwrap();
        }
        let line = format!("{}\n", "x".repeat(63));
        fs::write(base.join("files/a.txt"), line.repeat(64)).unwrap();
        let peer = Some(Path::new(PEERS).join(PEER)).filter(|path| path.is_file());
        Bench { _temp: temp, base, peer }
    }

    fn ours(&self) -> Server {
        let mut command = Command::new(PROGRAM);
        let zone = format!("files={}:ro", self.base.join("files").display());
        command.args(["mcp", "--zone", &zone]);
        self.start(command, "read_file", "/files/a.txt".to_owned())
    }

    fn theirs(&self) -> Option<Server> {
        let mut command = Command::new(self.peer.as_ref()?);
        command.arg(self.base.join("files"));
        let path = self.base.join("files/a.txt").display().to_string();
        Some(self.start(command, "read_text_file", path))
    }

    fn start(&self, mut command: Command, tool: &'static str, path: String) -> Server {
        command
            .current_dir(self.base.join("project"))
            .env("HOME", self.base.join("home"))
            .env("XDG_STATE_HOME", self.base.join("state"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        let mut server =
            Server { child, stdin, stdout: BufReader::new(stdout), tool, path, next: 0 };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" },
        });
        server.ask(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }));
        server.answer();
        server
    }
}

/// A server after its first answer.
struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    tool: &'static str,
    path: String,
    next: i64,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn ready(mut self) -> Self {
        self.ask(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        self
    }

    fn ask(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    /// Returns the next answer.
    fn answer(&mut self) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "the server has ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message.get("method").is_none() {
                return message;
            }
        }
    }

    fn call(&mut self) -> Value {
        self.next += 1;
        let params = json!({ "name": self.tool, "arguments": { "path": self.path } });
        json!({ "jsonrpc": "2.0", "id": self.next, "method": "tools/call", "params": params })
    }

    /// Reads the file once.
    fn read(&mut self) {
        let call = self.call();
        self.ask(&call);
        let answer = self.answer();
        assert_eq!((&answer["id"], has_file(&answer)), (&call["id"], true), "{answer}");
    }

    /// Reads the file often, all at a time.
    fn read_all(&mut self, count: usize) {
        let calls: Vec<Value> = (0..count).map(|_| self.call()).collect();
        let mut open: BTreeSet<i64> =
            calls.iter().map(|call| call["id"].as_i64().unwrap()).collect();
        let mut stdin = self.stdin.take().unwrap();
        let writer = thread::spawn(move || {
            let text: String = calls.iter().map(|call| format!("{call}\n")).collect();
            stdin.write_all(text.as_bytes()).unwrap();
            stdin
        });
        while !open.is_empty() {
            let answer = self.answer();
            assert!(open.remove(&answer["id"].as_i64().unwrap()) && has_file(&answer), "{answer}");
        }
        self.stdin = Some(writer.join().unwrap());
    }

    /// Returns the memory that the server holds, in MiB.
    fn memory(&self) -> Option<f64> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(line.split_whitespace().next()?.parse::<f64>().ok()? / 1024.0)
    }
}

fn has_file(answer: &Value) -> bool {
    answer["result"]["content"][0]["text"].as_str().is_some_and(|text| text.len() >= 4096)
}

fn reads(options: &Options, table: &mut Table, bench: &Bench) {
    let (name, what) = ("mcp_read_4k", "read_file of 4 KiB / the reference server");
    if !options.wants(name) {
        return;
    }
    let mut ours = bench.ours().ready();
    match bench.theirs().map(Server::ready) {
        Some(mut theirs) => {
            // Both are warm.
            for _ in 0..options.size(500, 5) {
                ours.read();
                theirs.read();
            }
            let pair = side_by_side(options.size(4_001, 21), || ours.read(), || theirs.read());
            table.ratio(name, what, Some(1.0), pair);
            table.amount("mcp_read_4k_ms", "read_file of 4 KiB, median", 1.0, pair.ours_ms(), "ms");
        }
        None => {
            table.skipped(name, what, MISSING);
            let mut times = Vec::new();
            for _ in 0..options.size(4_001, 21) {
                let start = Instant::now();
                ours.read();
                times.push(start.elapsed());
            }
            let pair = Pair::of(times.clone(), times);
            table.amount("mcp_read_4k_ms", "read_file of 4 KiB, median", 1.0, pair.ours_ms(), "ms");
        }
    }
}

fn starts(options: &Options, table: &mut Table, bench: &Bench) {
    let (name, what) = ("mcp_start", "start to the first answer / the reference server");
    if !options.wants(name) {
        return;
    }
    let mut times = (Vec::new(), Vec::new());
    for round in 0..options.size(41, 3) {
        let mut ours = || {
            let start = Instant::now();
            let server = bench.ours();
            times.0.push(start.elapsed());
            drop(server);
        };
        let mut theirs = || {
            let start = Instant::now();
            if let Some(server) = bench.theirs() {
                times.1.push(start.elapsed());
                drop(server);
            }
        };
        if round % 2 == 0 {
            ours();
            theirs();
        } else {
            theirs();
            ours();
        }
    }
    let has_peer = !times.1.is_empty();
    let pair = Pair::of(times.0.clone(), if has_peer { times.1 } else { times.0 });
    match has_peer {
        true => table.ratio(name, what, None, pair),
        false => table.skipped(name, what, MISSING),
    }
    table.amount("mcp_start_ms", "start to the first answer, median", 30.0, pair.ours_ms(), "ms");
}

fn at_a_time(options: &Options, table: &mut Table, bench: &Bench) {
    let (name, what) = ("mcp_1000_at_a_time", "1,000 calls at a time / the reference server");
    if !options.wants(name) {
        return;
    }
    let count = options.size(1_000, 50);
    let mut ours = bench.ours().ready();
    match bench.theirs().map(Server::ready) {
        Some(mut theirs) => {
            let rounds = options.size(15, 3);
            let pair = side_by_side(rounds, || ours.read_all(count), || theirs.read_all(count));
            table.ratio(name, what, None, pair);
        }
        None => {
            ours.read_all(count);
            table.skipped(name, what, MISSING);
        }
    }
}

fn memory(options: &Options, table: &mut Table, bench: &Bench) {
    let (name, what) = ("mcp_memory", "memory after 100,000 calls");
    if !options.wants(name) {
        return;
    }
    let mut ours = bench.ours().ready();
    for _ in 0..options.size(100, 1) {
        ours.read_all(1_000);
    }
    match ours.memory() {
        Some(memory) => table.amount(name, what, 32.0, memory, "MiB"),
        None => table.skipped(name, what, "/proc does not tell"),
    }
}
