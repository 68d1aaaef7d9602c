//! What the caller finds.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use zonekeep_confine::plan::{Backend, Gateway, Listen, Network, Route};
use zonekeep_confine::prove::prove;
use zonekeep_confine::strength::{Held, Rule, strength};
use zonekeep_confine::tree::{Launcher, Tree};

use crate::world::{HIGH, LISTED, LISTED_V6, NAME, PATIENCE, WEB, World, has_v6};

const ECONNREFUSED: i32 = 111;
const ENETUNREACH: i32 = 101;
const EACCES: i32 = 13;
const EPERM: i32 = 1;

type Test = fn(&World);

/// Tests of backends with a network of their own.
pub(crate) const OWN: &[(&str, Test)] = &[
    ("sockets_are_as_the_plan_says", sockets_are_as_the_plan_says),
    ("a_thousand_connections_wait", a_thousand_connections_wait),
    ("messages_go_both_ways", messages_go_both_ways),
    ("only_what_is_listed_leads_somewhere", only_what_is_listed_leads_somewhere),
    ("commands_have_no_rights", commands_have_no_rights),
    ("connections_end_with_the_sandbox", connections_end_with_the_sandbox),
    ("more_sockets_than_fit_a_message", more_sockets_than_fit_a_message),
    ("what_cannot_be_made_is_told", what_cannot_be_made_is_told),
    ("a_sandbox_that_was_started_early", a_sandbox_that_was_started_early),
    ("everything_else_holds", everything_else_holds),
];

/// Tests of the others.
pub(crate) const SHARED: &[(&str, Test)] = &[
    ("the_proxy_is_reached_alone", the_proxy_is_reached_alone),
    ("sockets_are_refused", sockets_are_refused),
    ("everything_else_holds", everything_else_holds),
];

fn taken(tree: &Tree) -> Vec<OwnedFd> {
    let sockets = tree.sockets().unwrap();
    assert_eq!(sockets.len(), World::gateway().sockets.len());
    sockets
}

/// Takes a socket of the plan out of all of them.
fn listener(sockets: &mut [OwnedFd], at: &str) -> TcpListener {
    let at: SocketAddr = at.parse().unwrap();
    let wanted = Listen { at, udp: false };
    let number = World::gateway().sockets.iter().position(|listen| *listen == wanted).unwrap();
    TcpListener::from(sockets[number].try_clone().unwrap())
}

fn sockets_are_as_the_plan_says(world: &World) {
    let tree = world.tree();
    let sockets = taken(&tree);
    let mut numbers = BTreeSet::new();
    for (listen, socket) in World::gateway().sockets.iter().zip(&sockets) {
        let at = rustix::net::getsockname(socket).unwrap();
        assert_eq!(SocketAddr::try_from(at).unwrap(), listen.at);
        assert_eq!(rustix::net::sockopt::socket_acceptconn(socket).unwrap(), !listen.udp);
        if !listen.udp {
            // Nothing holds bytes back on their way through the sandbox.
            assert_eq!(rustix::net::sockopt::tcp_congestion(socket).unwrap(), "reno");
        }
        let flags = rustix::io::fcntl_getfd(socket).unwrap();
        assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
        numbers.insert(rustix::fs::fstat(socket).unwrap().st_ino.to_string());
    }
    assert!(tree.sockets().is_err(), "they are handed out once");
    // The host has none of them.
    for name in ["tcp", "tcp6", "udp", "udp6"] {
        let Ok(table) = fs::read_to_string(format!("/proc/self/net/{name}")) else { continue };
        let known = table.lines().filter_map(|line| line.split_whitespace().nth(9));
        assert_eq!(known.filter(|inode| numbers.contains(*inode)).count(), 0, "{name}");
    }
    // Nobody inside keeps one either.
    for pid in inside(&tree) {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let links = open.filter_map(|entry| fs::read_link(entry.path()).ok());
        let own = |link: &Path| {
            numbers.iter().any(|number| link == Path::new(&format!("socket:[{number}]")))
        };
        assert_eq!(links.filter(|link| own(link)).count(), 0);
    }
    let off = Tree::start(world.plan(Network::Off), &Launcher::this_program()).unwrap();
    assert!(off.sockets().unwrap().is_empty() && off.sockets().unwrap().is_empty());
}

fn a_thousand_connections_wait(world: &World) {
    let tree = world.tree();
    let mut sockets = taken(&tree);
    for at in [format!("0.0.0.0:{WEB}"), format!("{NAME}:{HIGH}")] {
        let listener = listener(&mut sockets, &at);
        let to = SocketAddr::new(NAME.parse().unwrap(), listener.local_addr().unwrap().port());
        let mut running = world.begin(&tree, &["flood", &to.to_string(), "1000"]);
        // Nobody has answered yet.
        assert_eq!(running.line(), "1000 None\n");
        listener.set_nonblocking(true).unwrap();
        for _ in 0..1000 {
            let (stream, _) = listener.accept().unwrap();
            assert_eq!(stream.local_addr().unwrap(), to);
        }
        assert!(listener.accept().is_err());
        running.end();
    }
}

fn messages_go_both_ways(world: &World) {
    let tree = world.tree();
    let socket = UdpSocket::from(taken(&tree).swap_remove(0));
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let running = world.begin(&tree, &["udp", "127.0.0.1:53"]);
    let mut question = [0; 64];
    let (length, from) = socket.recv_from(&mut question).unwrap();
    assert_eq!(&question[..length], b"question");
    socket.send_to(b"answer", from).unwrap();
    assert_eq!(running.end(), "answer\n");
}

fn only_what_is_listed_leads_somewhere(world: &World) {
    let tree = world.tree();
    let _sockets = taken(&tree);
    let mut cases = vec![
        (format!("{NAME}:{WEB}"), 0),
        (format!("198.19.255.254:{WEB}"), 0),
        (format!("{NAME}:{HIGH}"), 0),
        (format!("{LISTED}:{HIGH}"), 0),
        (format!("[{LISTED_V6}]:{HIGH}"), 0),
        (format!("[::1]:{HIGH}"), 0),
        // Nothing listens there.
        (format!("198.18.0.6:{HIGH}"), ECONNREFUSED),
        (format!("{NAME}:80"), ECONNREFUSED),
        (format!("[{LISTED_V6}]:{WEB}"), ECONNREFUSED),
        ("127.0.0.1:8080".to_owned(), ECONNREFUSED),
        // Nothing leads there.
        (format!("10.1.2.4:{HIGH}"), ENETUNREACH),
        (format!("198.20.0.1:{WEB}"), ENETUNREACH),
        (format!("192.0.2.1:{WEB}"), ENETUNREACH),
        (format!("169.254.169.254:{WEB}"), ENETUNREACH),
        (format!("[2001:db8::1]:{HIGH}"), ENETUNREACH),
        (format!("[fd00::6]:{HIGH}"), ENETUNREACH),
        ("udp:192.0.2.1:53".to_owned(), ENETUNREACH),
        ("udp:224.0.0.251:5353".to_owned(), ENETUNREACH),
        ("udp:255.255.255.255:67".to_owned(), ENETUNREACH),
        ("udp:[ff02::fb]:5353".to_owned(), ENETUNREACH),
        // What is another's is not taken.
        (format!("at:{NAME}:80"), EACCES),
        ("at:127.0.0.1:1023".to_owned(), EACCES),
        ("at:127.0.0.1:8080".to_owned(), 0),
    ];
    cases.retain(|(to, _)| has_v6() || !to.contains('['));
    let mut words = vec!["try"];
    words.extend(cases.iter().map(|(to, _)| to.as_str()));
    let expected: String =
        cases.iter().map(|(to, errno)| format!("{to} {errno} at once\n")).collect();
    assert_eq!(world.run(&tree, &words), expected);
}

fn commands_have_no_rights(world: &World) {
    let tree = world.tree();
    let _sockets = taken(&tree);
    let none: String = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]
        .map(|name| format!("{name}:\t0000000000000000\n"))
        .concat();
    let refused = format!("add {EPERM}\nremove {EPERM}\noff {EPERM}\n");
    assert_eq!(world.run(&tree, &["rights"]), format!("{none}{none}{refused}"));
    // As the host sees it: the first process, a command, and who watches it.
    let mut running = world.begin(&tree, &["hold", &format!("{NAME}:{HIGH}")]);
    assert_eq!(running.line(), "connected\n");
    let inside = inside(&tree);
    assert!(inside.len() >= 3, "{inside:?}");
    for pid in inside {
        let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else { continue };
        let own: String = status
            .lines()
            .filter(|line| line.starts_with("Cap"))
            .fold(String::new(), |all, line| all + line + "\n");
        assert_eq!(own, none);
    }
}

fn connections_end_with_the_sandbox(world: &World) {
    let tree = world.tree();
    let mut sockets = taken(&tree);
    let listener = listener(&mut sockets, &format!("{NAME}:{HIGH}"));
    let mut running = world.begin(&tree, &["hold", &format!("{NAME}:{HIGH}")]);
    assert_eq!(running.line(), "connected\n");
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    drop(tree);
    let mut text = Vec::new();
    // The end, however it is told.
    let _ = stream.read_to_end(&mut text);
    assert_eq!(text, b"here");
    listener.set_nonblocking(true).unwrap();
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

fn more_sockets_than_fit_a_message(world: &World) {
    let sockets = (0..200).map(|port| Listen {
        at: SocketAddr::new(NAME.parse().unwrap(), 20_000 + port),
        udp: port % 2 == 1,
    });
    let gateway = Gateway { sockets: sockets.collect(), ..World::gateway() };
    let plan = world.plan(Network::Gate(gateway.clone()));
    let tree = Tree::start(plan, &Launcher::this_program()).unwrap();
    let sockets = tree.sockets().unwrap();
    let at =
        |socket: &OwnedFd| SocketAddr::try_from(rustix::net::getsockname(socket).unwrap()).unwrap();
    let found: Vec<_> = sockets.iter().map(at).collect();
    assert_eq!(found, gateway.sockets.iter().map(|listen| listen.at).collect::<Vec<_>>());
}

fn what_cannot_be_made_is_told(world: &World) {
    let route = |base: &str, bits| Route { base: base.parse().unwrap(), bits };
    let twice = World::gateway().sockets[1];
    let cases = [
        (Gateway { routes: vec![route("0.0.0.0", 0)], ..Gateway::default() }, "route to 0.0.0.0/0"),
        (Gateway { routes: vec![route("::", 0)], ..Gateway::default() }, "route to ::/0"),
        (Gateway { routes: vec![route("198.18.0.1", 40)], ..Gateway::default() }, "198.18.0.1/40"),
        (Gateway { sockets: vec![twice, twice], ..Gateway::default() }, "listen on 127.0.0.1:53"),
        // Without a route it is nobody's.
        (Gateway { routes: Vec::new(), ..World::gateway() }, "listen on 198.18.0.5:8443"),
    ];
    for (gateway, expected) in cases {
        let plan = world.plan(Network::Gate(gateway));
        let tree = Tree::start(plan, &Launcher::this_program()).unwrap();
        let failed = tree.sockets().unwrap_err().to_string();
        assert!(failed.contains(expected), "{failed}");
        assert_eq!(tree.layers().unwrap_err().to_string(), failed);
    }
}

/// What is started before there is a plan serves one with a gateway.
fn a_sandbox_that_was_started_early(world: &World) {
    let launcher = Launcher::this_program();
    launcher.start_early();
    let since = Instant::now();
    let own = std::process::id();
    let early = loop {
        let mut below = children(own).into_iter().flat_map(children);
        if let Some(first) = below.find(has_number_inside) {
            break first;
        }
        assert!(since.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(5));
    };
    let tree = world.tree();
    let sockets = taken(&tree);
    if world.backend == Backend::Namespaces {
        assert!(inside(&tree).contains(&early), "{early}");
    }
    assert_eq!(world.run(&tree, &["try", "127.0.0.1:53"]), "127.0.0.1:53 0 at once\n");
    drop(sockets);
}

/// The self-probe finds nothing open, and the list is held as far as it is said.
fn everything_else_holds(world: &World) {
    let network = match world.backend.has_own_tree() {
        true => World::gateway(),
        false => Gateway { proxy: Some(1), ..Gateway::default() },
    };
    let plan = world.plan(Network::Gate(network));
    let tree = Tree::start(plan, &Launcher::this_program()).unwrap();
    let report = prove(&tree).unwrap();
    let broken: Vec<_> = report.broken().collect();
    assert!(broken.is_empty() && report.holds(), "{broken:#?}");
    let off = Tree::start(world.plan(Network::Off), &Launcher::this_program()).unwrap();
    let held = |report: &zonekeep_confine::prove::Report| {
        let held = report.checks.iter().filter(|check| check.held == Some(true));
        held.map(|check| check.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(held(&report), held(&prove(&off).unwrap()));
    let rows = strength(tree.plan(), Some(tree.layers().unwrap()));
    let row = rows.iter().find(|row| row.rule == Rule::NetworkList).unwrap();
    let expected = match world.backend {
        Backend::Namespaces | Backend::Bubblewrap => Held::Full,
        Backend::Landlock if tree.layers().unwrap().landlock >= 4 => Held::Partly,
        _ => Held::Not,
    };
    assert_eq!(row.held, expected);
}

fn the_proxy_is_reached_alone(world: &World) {
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let gateway = Gateway { proxy: Some(proxy.local_addr().unwrap().port()), ..Gateway::default() };
    let plan = world.plan(Network::Gate(gateway));
    let tree = Tree::start(plan, &Launcher::this_program()).unwrap();
    assert!(tree.sockets().unwrap().is_empty());
    let refused = world.backend == Backend::Landlock && tree.layers().unwrap().landlock >= 4;
    let [proxy, other] = [&proxy, &other].map(|socket| socket.local_addr().unwrap().to_string());
    let bound = "at:127.0.0.1:0";
    let expected = match refused {
        true => format!("{proxy} 0 at once\n{other} {EACCES} at once\n{bound} {EACCES} at once\n"),
        false => format!("{proxy} 0 at once\n{other} 0 at once\n{bound} 0 at once\n"),
    };
    assert_eq!(world.run(&tree, &["try", &proxy, &other, bound]), expected);
}

fn sockets_are_refused(world: &World) {
    let plan = world.plan(Network::Gate(World::gateway()));
    let tree = Tree::start(plan, &Launcher::this_program()).unwrap();
    let failed = tree.sockets().unwrap_err().to_string();
    assert!(failed.contains("has no network of its own"), "{failed}");
}

fn children(of: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| parent(*pid) == Some(of)).collect()
}

fn parent(pid: u32) -> Option<u32> {
    status(pid, "PPid")?.parse().ok()
}

fn status(pid: u32, wanted: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(name, _)| *name == wanted).map(|(_, value)| value.trim().to_owned())
}

/// Returns the processes of a sandbox: those that have a number inside too.
fn inside(tree: &Tree) -> Vec<u32> {
    let mut below = vec![tree.keeper_pid().unwrap()];
    let mut at = 0;
    while let Some(&pid) = below.get(at) {
        below.extend(children(pid));
        at += 1;
    }
    below.retain(has_number_inside);
    below
}

fn has_number_inside(pid: &u32) -> bool {
    status(*pid, "NSpid").is_some_and(|all| all.split_whitespace().count() > 1)
}
