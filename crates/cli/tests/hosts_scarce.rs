//! A list of hosts where descriptors or processes run out: it holds, or nothing runs.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::collections::BTreeSet;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use zonekeep_testkit::internet::python;
use zonekeep_testkit::{Project, Run, skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

/// Says where it runs, and asks the proxy for a tunnel to each of its ports.
const TUNNELS: &str = r#"
import os, socket, sys
from urllib.parse import urlsplit
print(open("/proc/sys/kernel/hostname").read().strip(), flush=True)
proxy = urlsplit(os.environ["HTTP_PROXY"])
for port in sys.argv[1:]:
    to = f"localhost:{port}"
    try:
        stream = socket.create_connection((proxy.hostname, proxy.port), 3)
        stream.sendall(f"CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n".encode())
        print(" ".join(stream.makefile().read().split()), flush=True)
    except OSError as error:
        print(error, flush=True)
"#;

/// A server that says something and hangs up, and counts who came.
struct Service {
    port: u16,
    came: Arc<AtomicUsize>,
}

impl Service {
    fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let came = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&came);
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::Relaxed);
                let _ = stream.write_all(b"\x01hello\n");
            }
        });
        Service { port, came }
    }

    fn came(&self) -> usize {
        self.came.load(Ordering::Relaxed)
    }
}

/// A project, a service that is listed there, and one that is not.
struct Scene {
    project: Project,
    listed: Service,
    other: Service,
}

impl Scene {
    fn new() -> Self {
        let (listed, other) = (Service::start(), Service::start());
        Scene { project: Project::new(PROGRAM).file("tunnels.py", TUNNELS), listed, other }
    }

    /// Runs the tunnels in the sandbox; the beginning of a command limits it.
    fn run(&self, mut limited: Command) -> Run {
        let (listed, other) = (self.listed.port.to_string(), self.other.port.to_string());
        limited.arg(self.project.program());
        self.project.prepare(&mut limited);
        limited.args(["run", "--ro", ".", "--set"]);
        limited.arg(format!("sandbox.network=['localhost:{listed}']"));
        limited.arg("--").arg(python().unwrap());
        limited.args(["-B", "tunnels.py", &listed, &other]);
        self.project.finish(&mut limited)
    }

    /// Runs with one limit after the other, and returns what the tunnel to the listed
    /// service came to; with nothing, the run was refused.
    fn outcomes(
        &self,
        limits: impl Iterator<Item = u32>,
        limited: impl Fn(u32) -> Command,
    ) -> BTreeSet<String> {
        let mut outcomes = BTreeSet::new();
        for most in limits {
            let run = self.run(limited(most));
            let text = format!("{}{}", run.stdout, run.stderr);
            assert!(!text.contains("panicked"), "{most}: {run}");
            let lines: Vec<&str> = run.stdout.lines().collect();
            match run.exit {
                125 => {
                    assert!(run.stderr.starts_with("error: "), "{most}: {run}");
                    outcomes.insert(String::new());
                }
                0 if lines.len() == 3 => {
                    assert_eq!(lines[0], "zonekeep", "{most}: {run}");
                    assert!(!lines[2].contains(" 200 "), "{most}: {run}");
                    outcomes.insert(lines[1].to_owned());
                }
                // The interpreter had too little for itself.
                _ => assert!(text.contains("Error") || run.exit > 125, "{most}: {run}"),
            }
        }
        assert_eq!(self.other.came(), 0, "{outcomes:?}");
        outcomes
    }
}

const WORKS: &str = "HTTP/1.1 200 Connection established \u{1}hello";

#[test]
fn with_few_descriptors_a_list_of_hosts_holds_or_nothing_runs() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let scene = Scene::new();
    let limited = |most: u32| {
        let mut command = Command::new("prlimit");
        command.arg(format!("--nofile={most}"));
        command
    };
    let outcomes = scene.outcomes((8..80).chain([500]), limited);
    assert!(outcomes.contains(""), "no limit was low enough: {outcomes:?}");
    assert!(outcomes.contains(WORKS), "no limit was high enough: {outcomes:?}");
    assert!(scene.listed.came() > 0);
}

#[test]
fn with_few_processes_a_list_of_hosts_holds_or_nothing_runs() {
    if !zonekeep_testkit::enforced(PROGRAM) {
        return;
    }
    let scene = Scene::new();
    let Some(ordinary) = scene.project.as_ordinary() else {
        return skip("no ordinary user to run as");
    };
    let limited = |most: u32| {
        let mut command = ordinary();
        command.arg("prlimit").arg(format!("--nproc={most}"));
        command
    };
    let outcomes = scene.outcomes((1..24).chain([500]), limited);
    assert!(outcomes.contains(""), "no limit was low enough: {outcomes:?}");
    assert!(outcomes.contains(WORKS), "no limit was high enough: {outcomes:?}");
}
