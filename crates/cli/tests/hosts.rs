//! A list of hosts, seen from the user: services of the machine itself, what is
//! refused and how that reads, questions, choices, limits and records.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use zonekeep_testkit::{Project, Run, eventually};

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonekeep");

/// A server on the machine's loopback that answers requests with `body`.
struct Service {
    port: u16,
    served: Arc<AtomicUsize>,
}

impl Service {
    fn start(body: &'static [u8]) -> Self {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let port = listener.local_addr().unwrap().port();
        let served = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&served);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::Relaxed);
                std::thread::spawn(move || answer(stream, body));
            }
        });
        Service { port, served }
    }

    fn served(&self) -> usize {
        self.served.load(Ordering::Relaxed)
    }
}

fn answer(mut stream: TcpStream, body: &[u8]) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
    let mut seen = Vec::new();
    let mut part = [0; 1024];
    while !seen.windows(4).any(|four| four == b"\r\n\r\n") {
        match stream.read(&mut part) {
            Ok(n) if n > 0 => seen.extend_from_slice(&part[..n]),
            _ => return,
        }
    }
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}

fn project(network: &str) -> Project {
    let config = format!(
        "sandbox:\n  mode: direct\n  zones:\n    repo: {{ path: ./repo, mode: rw }}\n  network: {network}\n\
         shell: {{ default: preApproved }}\n"
    );
    let project = Project::with_config(PROGRAM, &config).dir("repo");
    project.zonekeep(["trust", "--yes"]).ok();
    project
}

fn shell(project: &Project, arguments: Value) -> Value {
    let arguments = arguments.to_string();
    let run = project.zonekeep(["tool", "shell", &arguments, "--json", "--approve", "all"]);
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"))
}

fn get(port: u16, host: &str) -> Value {
    json!({ "command": format!("curl -sS -m 10 http://{host}:{port}/") })
}

fn records(project: &Project) -> Vec<Value> {
    project.log_lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text(value: &Value) -> String {
    value.to_string()
}

#[test]
fn a_listed_service_of_the_machine_is_reached_by_all_its_names() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let service = Service::start(b"hello");
    let port = service.port;
    let project = project(&format!("[\"localhost:{port}\"]"));
    for host in ["localhost", "127.0.0.1", "host.zonekeep", "[::1]"] {
        for clean in ["", "env -u http_proxy -u HTTP_PROXY -u all_proxy -u ALL_PROXY "] {
            let command = format!("{clean}curl -sS -m 10 http://{host}:{port}/");
            let value = shell(&project, json!({ "command": command }));
            assert_eq!(value["stdout"], "hello", "{host} {clean}: {value}");
            assert_eq!((&value["network"], &value["held"]), (&json!(true), &json!(false)));
        }
    }
    assert_eq!(service.served(), 8);
    let log = records(&project);
    let run = log.iter().rev().find(|r| r["run"]["hosts"][0].is_object()).unwrap();
    let host = &run["run"]["hosts"][0];
    assert_eq!(host["host"], format!("localhost:{port}"));
    assert_eq!(host["connections"], 1);
    assert!(host["bytes_in"].as_u64().unwrap() > 5 && host["bytes_out"].as_u64().unwrap() > 10);
}

#[test]
fn what_is_not_listed_is_refused_at_once_and_in_words() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let (listed, other) = (Service::start(b"listed"), Service::start(b"other"));
    let project = project(&format!(
        "{{ allow: ['localhost:{}', 'example.test'], deny: ['bad.example.test'] }}",
        listed.port
    ));
    // The control: it is there.
    assert!(TcpStream::connect(("127.0.0.1", other.port)).is_ok());
    eventually("the control", || (other.served() == 1).then_some(()));
    let value = shell(&project, get(other.port, "localhost"));
    assert_eq!(value["failed"], true, "{value}");
    let value = shell(&project, json!({ "command": "curl -sS -m 10 https://elsewhere.test/" }));
    let notes = text(&value["notes"]);
    assert!(value["failed"] == true && value["held"] == true, "{value}");
    assert!(notes.contains("Connecting to 'elsewhere.test:443' was refused"), "{notes}");
    assert!(notes.contains(&format!("localhost:{}", listed.port)), "{notes}");
    assert!(value["duration_ms"].as_u64().unwrap() < 5000, "{value}");
    // The same for a program that knows no proxy.
    let bare = "env -i PATH=$PATH curl -sS -m 10 https://elsewhere.test/";
    let notes = text(&shell(&project, json!({ "command": bare }))["notes"]);
    assert!(notes.contains("elsewhere.test"), "{notes}");
    let refused: Vec<Value> =
        records(&project).into_iter().filter(|r| r["action"] == "connect").collect();
    assert!(refused.iter().all(|r| r["outcome"] == "refused" && r["verdict"] == "deny"));
    assert!(refused.iter().any(|r| r["path"] == "elsewhere.test:443"), "{refused:?}");
    assert_eq!(other.served(), 1);
}

#[test]
fn a_question_waits_with_the_connection() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let service = Service::start(b"asked");
    let port = service.port;
    let project = project(&format!("{{ ask: ['localhost:{port}'] }}"));
    let run = |approve: &str| {
        let arguments = get(port, "localhost").to_string();
        project.zonekeep(["tool", "shell", &arguments, "--json", "--approve", approve])
    };
    let value: Value = serde_json::from_str(&run("all").stdout).unwrap();
    assert_eq!(value["stdout"], "asked", "{value}");
    let value: Value = serde_json::from_str(&run("none").stdout).unwrap();
    assert_ne!(value["stdout"], "asked", "{value}");
    assert!(text(&value["notes"]).contains("was refused"), "{value}");
    assert_eq!(service.served(), 1);
    let asked: Vec<Value> = records(&project)
        .into_iter()
        .filter(|r| r["action"] == "connect" && r["verdict"] == "ask")
        .collect();
    let outcomes: Vec<&str> = asked.iter().map(|r| r["outcome"].as_str().unwrap()).collect();
    assert!(outcomes.starts_with(&["asked", "done", "asked"]), "{outcomes:?}");
    assert_eq!(asked[1]["answer"]["approved"], true);
    // The command has the terminal: it is not for want of one that nobody is asked.
    let url = format!("http://localhost:{port}/");
    let run = project.zonekeep(["run", "--", "curl", "-sS", "-m", "10", &url]);
    assert!(run.to_string().contains("`zonekeep run` does not ask on the terminal"), "{run}");
    assert_eq!(service.served(), 1);
}

#[test]
fn a_call_chooses_only_out_of_what_is_allowed() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let (one, two) = (Service::start(b"one"), Service::start(b"two"));
    let project = project(&format!("['localhost:{}', 'localhost:{}']", one.port, two.port));
    let mut arguments = get(two.port, "localhost");
    assert_eq!(shell(&project, arguments.clone())["stdout"], "two");
    arguments["allowedDomains"] = json!([format!("localhost:{}", one.port)]);
    let value = shell(&project, arguments.clone());
    assert_eq!(value["failed"], true, "{value}");
    arguments["allowedDomains"] = json!(["elsewhere.test"]);
    let value = shell(&project, arguments.clone());
    assert!(text(&value).contains("elsewhere.test"), "{value}");
    assert!(value.get("stdout").is_none(), "{value}");
    arguments["allowedDomains"] = json!([]);
    let value = shell(&project, arguments);
    assert_eq!((&value["failed"], &value["network"]), (&json!(true), &json!(false)), "{value}");
    assert_eq!((one.served(), two.served()), (0, 1));
}

#[test]
fn limits_cut_what_is_over() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    static MUCH: [u8; 400_000] = [b'x'; 400_000];
    let service = Service::start(&MUCH);
    let project = project(&format!("['localhost:{}']", service.port));
    let limited = |limit: &str| {
        let line = format!("curl -sS -m 10 -o /dev/null http://localhost:{}/", service.port);
        let arguments = json!({ "command": line }).to_string();
        let set = format!("sandbox.limits={{{limit}}}");
        let run = project.zonekeep([
            "tool",
            "shell",
            &arguments,
            "--json",
            "--approve",
            "all",
            "--set",
            &set,
        ]);
        serde_json::from_str::<Value>(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"))
    };
    assert_eq!(limited("network_in: 1M")["failed"], false);
    let value = limited("network_in: 100K");
    assert_eq!(value["failed"], true, "{value}");
    assert!(text(&value["notes"]).contains("all the bytes it may receive"), "{value}");
    let port = service.port;
    let network = format!("sandbox.network=['localhost:{port}']");
    let url = format!("http://localhost:{port}/");
    let run = |limit: &str| {
        let flags = ["run", "--rw", "repo", "--set", &network, "--limit", limit, "--"];
        project.zonekeep(flags.iter().chain(&["curl", "-sS", "-o", "/dev/null", &url]))
    };
    assert_eq!(run("network_in=1M").exit, 0);
    assert_ne!(run("network_in=100K").exit, 0, "a flag counts too");
    let value = limited("network_out: 10");
    assert!(text(&value["notes"]).contains("all the bytes it may send"), "{value}");
    let command = format!(
        "for i in 1 2 3; do curl -sS -m 5 -o /dev/null http://localhost:{}/; done",
        service.port
    );
    let arguments = json!({ "command": command }).to_string();
    let set = "sandbox.limits={connections: 2}";
    let run =
        project.zonekeep(["tool", "shell", &arguments, "--json", "--approve", "all", "--set", set]);
    let value: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(value["failed"], true, "{value}");
}

#[test]
fn a_list_of_hosts_needs_trust() {
    let project = Project::with_config(
        PROGRAM,
        "sandbox: { mode: direct, zones: { repo: { path: ./repo, mode: rw } }, network: [example.test] }\n",
    )
    .dir("repo");
    let run: Run = project.zonekeep(["run", "--", "true"]);
    assert_ne!(run.exit, 0);
    assert!(run.stderr.contains("reach example.test"), "{run:?}");
}

#[test]
fn a_connection_is_explained_with_its_rule_and_the_change_that_would_allow_it() {
    let project = project("{ allow: [example.test, '*.example.test'], deny: [bad.example.test] }");
    let explain = |host: &str| {
        let run = project.zonekeep(["explain", "connect", host, "--json"]);
        serde_json::from_str::<Value>(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"))
    };
    let cases = [
        ("example.test", "allow"),
        ("EXAMPLE.test.:443", "allow"),
        ("a.b.example.test:80", "allow"),
        ("example.test:22", "deny"),
        ("bad.example.test", "deny"),
        ("badexample.test", "deny"),
        ("0x7f.1", "deny"),
        ("münchen.example.test", "allow"),
        ("münchen.test", "deny"),
        ("93.184.216.34", "deny"),
    ];
    for (host, verdict) in cases {
        let value = explain(host);
        assert_eq!(value["verdict"], verdict, "{host}: {value}");
        assert_eq!(value["action"], "connect");
    }
    assert_eq!(explain("bad.example.test")["rule"]["line"], 5);
    let value = explain("other.test");
    assert!(text(&value["change"]).contains("other.test"), "{value}");
    let run = project.zonekeep(["explain", "connect", "other.test"]);
    assert!(run.stdout.starts_with("connect other.test:443: denied (host)"), "{run:?}");
}

#[test]
fn many_connections_at_once_find_somebody_listening() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let service = Service::start(b"x");
    let project = project(&format!("['localhost:{}']", service.port));
    let script = format!(
        "import resource, socket\n\
         resource.setrlimit(resource.RLIMIT_NOFILE, (1100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))\n\
         open = [socket.create_connection(('127.0.0.1', {})) for _ in range(1000)]\nprint(len(open))",
        service.port
    );
    project.put("repo/many.py", script);
    let value = shell(&project, json!({ "command": "python3 /repo/many.py" }));
    assert_eq!(value["stdout"], "1000\n", "{value}");
}
