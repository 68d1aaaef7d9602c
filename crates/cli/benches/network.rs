//! What a list of hosts costs: one large download, new connections, and a thousand
//! at a time, through the gate of `zonekeep run`, without it, and through the proxy of
//! `srt` where that is installed. All on the machine's own loopback, side by side in one
//! run. Prints ratios; see `measure`.
//!
//! `benches/peers/install` installs the peer.

// A bench may fail loudly, and its table is what it is for.
#![allow(clippy::unwrap_used, clippy::print_stdout, unreachable_pub)]

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");
const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/peers");

/// The place of `srt` in a row.
const PEER: usize = 2;

/// Prints seconds: of a download of so many bytes, of one new connection with a
/// small answer in the middle of so many, or of so many that are open at once.
const CLIENT: &str = r#"
import base64, os, socket, statistics, sys, time, urllib.parse
what, port, amount, through = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
proxy = urllib.parse.urlsplit(os.environ["HTTP_PROXY"]) if through == "proxy" else None
buffer = bytearray(1 << 20)

def dial():
    return socket.create_connection((proxy.hostname, proxy.port) if proxy else ("localhost", port))

def ask(connection, size):
    target, more = f"/{size}", ""
    if proxy:
        target = f"http://[::1]:{port}/{size}"
        name = urllib.parse.unquote(proxy.username) + ":" + urllib.parse.unquote(proxy.password)
        more = "Proxy-Authorization: Basic " + base64.b64encode(name.encode()).decode() + "\r\n"
    host = f"[::1]:{port}" if proxy else f"localhost:{port}"
    request = f"GET {target} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n"
    connection.sendall(request.encode())

def answer(connection):
    got = 0
    while n := connection.recv_into(buffer):
        got += n
    return got

def whole():
    with dial() as connection:
        ask(connection, amount)
        assert answer(connection) > amount

def one():
    begun = time.perf_counter()
    with dial() as connection:
        ask(connection, 1)
        assert answer(connection) > 1
    return time.perf_counter() - begun

def many():
    connections = [dial() for _ in range(amount)]
    for connection in connections:
        ask(connection, 1)
    assert all(answer(connection) > 1 for connection in connections)

begun = time.perf_counter()
if what == "download":
    whole()
elif what == "many":
    many()
seconds = time.perf_counter() - begun
print(statistics.median(one() for _ in range(amount)) if what == "connect" else seconds)
"#;

fn main() {
    let quick = std::env::var_os("ZONEKEEP_BENCH_QUICK").is_some();
    let bench = Bench::new();
    let (size, connections) = if quick { (8 << 20, 20) } else { (1 << 30, 500) };
    let rounds = if quick { 1 } else { 7 };
    println!(
        "{:<42} {:>10} {:>10} {:>10}  ",
        "seconds, in the middle", "direct", "zonekeep", "srt"
    );
    let download = bench.row("download", size, rounds, "download of 1 GiB");
    let connect = bench.row("connect", connections, rounds, "a new connection, with its answer");
    let many =
        bench.row("many", if quick { 50 } else { 1000 }, rounds, "1,000 connections at a time");
    println!(
        "throughput of the download / direct: {:.2} (at least 0.8)",
        download[0] / download[1]
    );
    println!("a new connection: {:+.3} ms (at most 0.5)", (connect[1] - connect[0]) * 1000.0);
    println!("1,000 at a time: all answered, {:.2} x direct", many[1] / many[0]);
    for (name, row) in [("download", &download), ("connection", &connect), ("1,000", &many)] {
        if let Some(srt) = row.get(2) {
            println!("{name}: {:.3} x srt's time", row[1] / srt);
        }
    }
}

struct Bench {
    _temp: tempfile::TempDir,
    base: PathBuf,
    port: u16,
    srt: Option<PathBuf>,
}

impl Bench {
    fn new() -> Self {
        let temp = tempfile::Builder::new().prefix("zonekeep-bench-").tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        fs::create_dir(base.join("home")).unwrap();
        fs::create_dir(base.join("work")).unwrap();
        fs::write(base.join("work/client.py"), CLIENT).unwrap();
        let port = serve();
        let srt = Path::new(PEERS).join("node_modules/.bin/srt");
        let settings = format!(
            r#"{{"network": {{"allowedDomains": ["[::1]:{port}"], "deniedDomains": []}},
                "filesystem": {{"denyRead": [], "allowWrite": ["."], "denyWrite": []}}}}"#
        );
        fs::write(base.join("srt.json"), settings).unwrap();
        Bench { _temp: temp, base, port, srt: Some(srt).filter(|srt| srt.exists()) }
    }

    /// Measures one thing by turns, prints it, and returns the medians.
    fn row(&self, what: &str, amount: usize, rounds: usize, title: &str) -> Vec<f64> {
        let ways = if self.srt.is_some() { 3 } else { 2 };
        let mut times = vec![Vec::new(); ways];
        let mut gone = false;
        for _ in 0..rounds {
            for (way, times) in times.iter_mut().enumerate() {
                if way == PEER && gone {
                    continue;
                }
                match self.measure(way, what, amount) {
                    Ok(time) => times.push(time),
                    // A peer may fail at what is measured.
                    Err(why) if way == PEER => {
                        gone = true;
                        println!("srt: {}", why.lines().last().unwrap_or(""))
                    }
                    Err(why) => panic!("{why}"),
                }
            }
        }
        let medians: Vec<f64> =
            times.into_iter().filter(|times| !times.is_empty()).map(median).collect();
        let cells: Vec<String> = medians.iter().map(|time| format!("{time:>10.6}")).collect();
        println!("{title:<42} {}", cells.join(" "));
        medians
    }

    fn measure(&self, way: usize, what: &str, amount: usize) -> Result<f64, String> {
        let script = self.base.join("work/client.py").display().to_string();
        let through = if way == PEER { "proxy" } else { "straight" };
        let (port, amount) = (self.port.to_string(), amount.to_string());
        let client = ["python3", &script, what, &port, &amount, through];
        let mut command = match way {
            0 => Command::new("env"),
            1 => {
                let mut command = Command::new(PROGRAM);
                let network = format!("sandbox.network=[\"localhost:{port}\"]");
                command.args([
                    "run",
                    "--backend",
                    "namespaces",
                    "--rw",
                    ".",
                    "--set",
                    &network,
                    "--",
                ]);
                command
            }
            _ => {
                let mut command = Command::new(self.srt.as_ref().unwrap());
                command.arg("--settings").arg(self.base.join("srt.json"));
                command
            }
        };
        command
            .args(client)
            .current_dir(self.base.join("work"))
            .env("HOME", self.base.join("home"))
            .env("XDG_STATE_HOME", self.base.join("state"))
            .stdin(Stdio::null());
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        text.trim().parse().map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Serves `GET /N` with N bytes on both loopback addresses; returns the port.
fn serve() -> u16 {
    let four = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = four.local_addr().unwrap().port();
    let six = TcpListener::bind(("::1", port)).unwrap();
    for listener in [four, six] {
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || answer(stream));
            }
        });
    }
    port
}

fn answer(mut stream: TcpStream) {
    let mut seen = Vec::new();
    let mut part = [0; 2048];
    while !seen.windows(4).any(|four| four == b"\r\n\r\n") {
        match stream.read(&mut part) {
            Ok(n) if n > 0 => seen.extend_from_slice(&part[..n]),
            _ => return,
        }
    }
    let text = String::from_utf8_lossy(&seen);
    let size = text.split_whitespace().nth(1).and_then(|path| path.rsplit('/').next());
    let mut left: usize = size.and_then(|size| size.parse().ok()).unwrap_or(1);
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {left}\r\nConnection: close\r\n\r\n");
    let _ = stream.write_all(head.as_bytes());
    static BLOCK: [u8; 1 << 18] = [b'x'; 1 << 18];
    while left > 0 {
        let now = left.min(BLOCK.len());
        if stream.write_all(&BLOCK[..now]).is_err() {
            return;
        }
        left -= now;
    }
}
