//! A gate in a process that has no descriptors left, or no threads.
//!
//! Such limits are for a whole process, and for clients and servers in it too. So
//! the gate has one of its own here: this program, with one test.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail loudly")]

mod common;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use common::*;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};

const B: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// Names what a gate lets through after a question, in the process that has it.
const HOSTS: &str = "ZONEKEEP_TEST_HOSTS";

/// The process of a gate, when it has been asked to be one.
#[test]
fn gate_of_its_own() {
    let Ok(hosts) = std::env::var(HOSTS) else { return };
    let mut plan = allow([""; 0]);
    plan.ask = hosts.split(' ').map(str::to_owned).collect();
    plan.delay = Duration::from_millis(20);
    let gate = plan.open();
    println!("\nproxy {}", gate.proxy);
    // It ends with whoever started it. Each line asks for a thread, with a limit.
    for most in std::io::stdin().lines() {
        let current = Some(most.unwrap().parse().unwrap());
        setrlimit(Resource::Nproc, Rlimit { current, ..getrlimit(Resource::Nproc) }).unwrap();
        let made = std::thread::Builder::new().spawn(|| {}).is_ok();
        println!("thread {made}");
    }
}

/// A gate in another process.
struct Apart {
    child: Child,
    said: Lines<BufReader<ChildStdout>>,
    proxy: SocketAddr,
}

impl Apart {
    fn open(hosts: &[SocketAddr]) -> Apart {
        Apart::open_by(Command::new(std::env::current_exe().unwrap()), hosts)
    }

    fn open_by(mut command: Command, hosts: &[SocketAddr]) -> Apart {
        let hosts: Vec<String> = hosts.iter().map(SocketAddr::to_string).collect();
        command.args(["--exact", "gate_of_its_own", "--nocapture"]).env(HOSTS, hosts.join(" "));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let proxy = hear(&mut said, "proxy ").parse().unwrap();
        Apart { child, said, proxy }
    }

    /// Has the process limit its user's processes, and returns whether it can make
    /// a thread then.
    fn makes_a_thread(&mut self, most: u32) -> bool {
        writeln!(self.child.stdin.as_mut().unwrap(), "{most}").unwrap();
        hear(&mut self.said, "thread ") == "true"
    }

    /// Asks for a tunnel, and returns it with the answer's first line.
    fn tunnel(&self, to: SocketAddr) -> (TcpStream, String) {
        let mut stream = connect(self.proxy);
        say(&mut stream, format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n"));
        let head = read_head(&mut stream);
        let line = head.lines().next().unwrap_or_default().to_owned();
        (stream, line)
    }

    /// Returns the numbers of the files that the process has open.
    fn files(&self) -> BTreeSet<u64> {
        let entries = std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap();
        let name = |entry: std::fs::DirEntry| entry.file_name().into_string().unwrap();
        entries.map(|entry| name(entry.unwrap()).parse().unwrap()).collect()
    }

    /// Waits until the process has as few files open as it had.
    fn back_to(&self, files: &BTreeSet<u64>) {
        let end = Instant::now() + SOON;
        while self.files().len() > files.len() {
            assert!(Instant::now() < end, "{:?} were {files:?}", self.files());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Lets the process open so many files more.
    fn leave(&self, more: usize) {
        let files = self.files();
        let mut free = (0..).filter(|number| !files.contains(number));
        self.limit(free.nth(more));
    }

    /// Lets the process open as many files as this one may.
    fn enough(&self) {
        self.limit(getrlimit(Resource::Nofile).current);
    }

    fn limit(&self, most: Option<u64>) {
        let limit = Rlimit { current: most, ..getrlimit(Resource::Nofile) };
        let pid = Pid::from_raw(self.child.id().try_into().unwrap());
        prlimit(pid, Resource::Nofile, limit).unwrap();
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns what comes after a word at the beginning of a line.
fn hear(lines: &mut Lines<BufReader<ChildStdout>>, word: &str) -> String {
    let mut found = lines.filter_map(|line| Some(line.unwrap().strip_prefix(word)?.to_owned()));
    found.next().unwrap_or_else(|| panic!("the gate does not say {word:?}"))
}

const CONNECTED: &str = "HTTP/1.1 200 Connection established";

fn echoes(stream: &mut TcpStream, bytes: &[u8]) {
    let mut out = stream.try_clone().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || out.write_all(bytes).unwrap());
        let mut came = vec![0; bytes.len()];
        stream.read_exact(&mut came).unwrap();
        assert!(came == bytes, "other bytes came back");
    });
}

#[test]
fn a_connection_that_no_descriptor_is_left_for_fails_at_once_and_in_words() {
    let (server, other) = (Server::echo(B), Server::echo(B));
    let gate = Apart::open(&[server.at]);
    let before = gate.files();
    let (mut stream, line) = gate.tunnel(server.at);
    assert_eq!(line, CONNECTED, "the control");
    echoes(&mut stream, b"\x01hello");
    drop(stream);
    gate.back_to(&before);

    // One is for the client's side of it.
    gate.leave(1);
    let since = Instant::now();
    for _ in 0..5 {
        let (mut stream, line) = gate.tunnel(server.at);
        assert_eq!(line, "HTTP/1.1 502 Bad Gateway");
        let words = format!("Cannot connect to '{}': too many files are open.", server.at);
        assert_eq!(read_all(&mut stream).trim_end(), words);
        drop(stream);
        assert_eq!(gate.tunnel(other.at).1, "HTTP/1.1 403 Forbidden");
    }
    assert!(since.elapsed() < SOON, "{:?}", since.elapsed());
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
    assert_eq!(other.connections.load(Ordering::SeqCst), 0);

    gate.enough();
    let (mut stream, line) = gate.tunnel(server.at);
    assert_eq!(line, CONNECTED, "there are some again");
    echoes(&mut stream, b"\x01hello");
}

#[test]
fn connections_that_stand_go_on_without_descriptors_and_the_next_waits_for_one() {
    let server = Server::echo(B);
    let gate = Apart::open(&[server.at]);
    let (mut open, line) = gate.tunnel(server.at);
    assert_eq!(line, CONNECTED);
    echoes(&mut open, b"\x01hello");

    gate.leave(0);
    let at = server.at;
    let mut waiting = connect(gate.proxy);
    say(&mut waiting, format!("CONNECT {at} HTTP/1.1\r\nHost: {at}\r\n\r\n"));
    // So much that it would move inside the kernel, which takes two more.
    echoes(&mut open, &vec![1; 1 << 20]);
    waiting.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    assert!(waiting.read(&mut [0]).is_err(), "it waits");
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);

    gate.enough();
    waiting.set_read_timeout(Some(SOON)).unwrap();
    assert!(read_head(&mut waiting).starts_with(CONNECTED));
    echoes(&mut waiting, b"\x01hello");
}

/// Questions and names take threads, of which some are there from the start.
#[test]
fn without_new_threads_all_are_served_by_those_that_are_there() {
    let servers: Vec<Server> = (0..6).map(|_| Server::echo(B)).collect();
    let hosts: Vec<SocketAddr> = servers.iter().map(|server| server.at).collect();
    // To root the limit does not apply.
    let Some(command) = as_ordinary() else {
        return println!("skipped: nobody else to run as; the tests as an ordinary user have it");
    };
    let mut gate = Apart::open_by(command, &hosts);
    assert!(gate.makes_a_thread(500), "the control");
    assert!(!gate.makes_a_thread(1));
    std::thread::scope(|scope| {
        for at in hosts {
            let gate = &gate;
            scope.spawn(move || {
                let (mut stream, line) = gate.tunnel(at);
                assert_eq!(line, CONNECTED);
                echoes(&mut stream, b"\x01hello");
            });
        }
    });
}

/// Returns this program as somebody who is not root, where that can be.
fn as_ordinary() -> Option<Command> {
    let this = std::env::current_exe().unwrap();
    if !rustix::process::geteuid().is_root() {
        return Some(Command::new(this));
    }
    let ordinary = || {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&this);
        command
    };
    let runs = ordinary().arg("--list").output().is_ok_and(|output| output.status.success());
    runs.then(ordinary)
}
