//! Connections of commands that have ended: late answers open none, and none is of
//! use to whoever has got hold of it.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod common;

use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::open;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use zonekeep::approve::{Answer, Callback, Request};
use zonekeep::command::{Command, Outcome};
use zonekeep::{Sandbox, Session};
use zonekeep_testkit::{PATIENCE, Project as Files, eventually, skip};

const TESTS: &[(&str, fn())] = &[
    ("a_yes_in_time_opens_a_connection", a_yes_in_time_opens_a_connection),
    ("a_late_yes_opens_nothing_and_is_forgotten", a_late_yes_opens_nothing_and_is_forgotten),
    ("a_late_yes_for_the_session_is_kept", a_late_yes_for_the_session_is_kept),
    ("a_connection_that_was_handed_on_ends", a_connection_that_was_handed_on_ends),
    (
        "a_command_that_could_not_start_keeps_none_open",
        a_command_that_could_not_start_keeps_none_open,
    ),
    (
        "a_connection_outlives_all_commands_but_the_last",
        a_connection_outlives_all_commands_but_the_last,
    ),
    ("a_connection_in_the_background_ends", a_connection_in_the_background_ends),
    ("a_socket_that_was_handed_on_leads_nowhere", a_socket_that_was_handed_on_leads_nowhere),
];

fn main() {
    zonekeep::confine::launcher::become_if_asked();
    let ran = Scene::new("allow").sandbox.run(&Command::new(["true"]));
    if !ran.is_ok_and(|outcome| outcome.backend.has_own_tree()) {
        return skip("commands have no network of their own here");
    }
    common::run_all(TESTS);
}

/// How long something that must not happen is waited for.
const A_WHILE: Duration = Duration::from_millis(500);

/// A server on the machine's loopback that sends back what it hears.
struct Echo {
    port: u16,
    connections: Arc<AtomicUsize>,
    heard: Arc<AtomicUsize>,
}

impl Echo {
    fn start() -> Echo {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (connections, heard) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let echo = Echo { port, connections: connections.clone(), heard: heard.clone() };
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                connections.fetch_add(1, Ordering::SeqCst);
                let heard = heard.clone();
                thread::spawn(move || {
                    let mut bytes = [0; 1024];
                    while let Ok(count @ 1..) = stream.read(&mut bytes) {
                        heard.fetch_add(count, Ordering::SeqCst);
                        let _ = stream.write_all(&bytes[..count]);
                    }
                });
            }
        });
        echo
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    fn heard(&self) -> usize {
        self.heard.load(Ordering::SeqCst)
    }
}

/// A project in which somebody is asked about a server, and that somebody.
struct Scene {
    files: Files,
    _session: Session,
    sandbox: Sandbox,
    server: Echo,
    asked: Mutex<Receiver<Request>>,
    answers: Sender<Answer>,
}

impl Scene {
    /// Makes one where the server is in a list: `ask` or `allow`.
    fn new(list: &str) -> Scene {
        let server = Echo::start();
        let config = format!(
            "sandbox:\n  mode: direct\n  zones:\n    repo: {{ path: ./repo, mode: rw }}\n  \
             network: {{ {list}: [\"localhost:{}\"] }}\n  \
             # A program outside that commands may speak with.\n  \
             allow_sensitive: [taker]\n",
            server.port
        );
        let files = Files::with_config("", &config).dir("repo");
        let ((asks, asked), (answers, answered)) = (mpsc::channel(), mpsc::channel());
        let (asks, answered) = (Mutex::new(asks), Mutex::new(answered));
        let session = open(
            &files,
            Callback(move |request: &Request| {
                if request.verb != "connect" {
                    return Answer::yes();
                }
                asks.lock().unwrap().send(request.clone()).unwrap();
                answered.lock().unwrap().recv_timeout(PATIENCE).unwrap_or_else(|_| Answer::no())
            }),
        );
        let sandbox = session.sandbox();
        let asked = Mutex::new(asked);
        Scene { files, _session: session, sandbox, server, asked, answers }
    }

    /// Runs Python in the sandbox, with a connection to the server.
    fn connected(&self, then: &str) -> Outcome {
        self.sandbox.run(&self.command(then)).unwrap()
    }

    fn command(&self, then: &str) -> Command {
        let port = self.server.port;
        let script = format!(
            "import os, socket, time\n\
             def until(path):\n    \
                 for _ in range(6000):\n        \
                     if os.path.exists(path): return\n        \
                     time.sleep(0.02)\n    \
                 raise TimeoutError(path)\n\
             server = socket.create_connection(('127.0.0.1', {port}))\n{then}"
        );
        // The one that every user can use.
        let usual = Some("/usr/bin/python3").filter(|path| Path::new(path).exists());
        Command::new([usual.unwrap_or("python3"), "-c", &script])
    }

    /// Runs a command that ends while somebody is asked about its connection.
    fn asked_too_long(&self) {
        thread::scope(|scope| {
            let early = "server.sendall(b'early')\n\
                         until('/repo/asked')\n";
            let running = scope.spawn(|| self.connected(early));
            self.asked.lock().unwrap().recv_timeout(PATIENCE).unwrap();
            self.files.put("repo/asked", "");
            let outcome = running.join().unwrap();
            assert_eq!(outcome.exit_code, Some(0), "{outcome:?}");
        });
    }

    /// Returns how many questions there were since the last time.
    fn questions(&self) -> usize {
        self.asked.lock().unwrap().try_iter().count()
    }
}

/// Says something, and prints what comes back.
const PING: &str = "server.sendall(b'\\1ping')\nprint(server.recv(5)[1:].decode())\n";

fn a_yes_in_time_opens_a_connection() {
    let scene = Scene::new("ask");
    scene.answers.send(Answer::yes()).unwrap();
    assert_eq!(scene.connected(PING).stdout, "ping\n");
    assert_eq!((scene.questions(), scene.server.connections()), (1, 1));
}

fn a_late_yes_opens_nothing_and_is_forgotten() {
    let scene = Scene::new("ask");
    scene.asked_too_long();
    scene.answers.send(Answer::yes()).unwrap();
    thread::sleep(A_WHILE);
    assert_eq!(scene.server.connections(), 0);

    scene.answers.send(Answer::no()).unwrap();
    let outcome = scene.connected(PING);
    assert_eq!(outcome.stdout, "", "{outcome:?}");
    assert_eq!(scene.questions(), 1, "it is asked again");
    assert_eq!(scene.server.connections(), 0);
}

fn a_late_yes_for_the_session_is_kept() {
    let scene = Scene::new("ask");
    scene.asked_too_long();
    scene.answers.send(Answer::yes_for_session()).unwrap();
    thread::sleep(A_WHILE);
    assert_eq!(scene.server.connections(), 0);

    eventually("a connection that nobody is asked about", || {
        // For a question that comes before the session knows the first answer.
        scene.answers.send(Answer::no()).unwrap();
        scene.questions();
        let connected = scene.connected(PING).stdout == "ping\n";
        (connected && scene.questions() == 0).then_some(())
    });
}

/// Hands the connection to whoever listens in the directory, and stays until told.
const HAND_ON: &str = "taker = socket.socket(socket.AF_UNIX)\n\
                       taker.connect('/repo/taker')\n\
                       socket.send_fds(taker, [b'x'], [server.fileno()])\n\
                       until('/repo/go')\n";

/// Takes the connection that a command hands on.
fn take(from: &UnixListener) -> TcpStream {
    let (giver, _) = from.accept().unwrap();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut bytes = [std::io::IoSliceMut::new(&mut byte)];
    recvmsg(&giver, &mut bytes, &mut beside, RecvFlags::empty()).unwrap();
    let handed = beside.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    let stream = TcpStream::from(handed.expect("a connection"));
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Returns whether bytes go to the server and back.
fn flows(stream: &mut TcpStream) -> bool {
    let mut answer = [0; 5];
    let there_and_back =
        stream.write_all(b"\x01ping").and_then(|()| stream.read_exact(&mut answer));
    there_and_back.is_ok() && answer == *b"\x01ping"
}

fn a_connection_that_was_handed_on_ends() {
    handed_on(&Scene::new("allow"));
}

fn a_command_that_could_not_start_keeps_none_open() {
    let scene = Scene::new("allow");
    assert_eq!(scene.connected("").exit_code, Some(0));
    let mut nowhere = scene.command("");
    nowhere.cwd = Some("/repo/nowhere".to_owned());
    scene.sandbox.run(&nowhere).unwrap_err();
    handed_on(&scene);
}

/// Hands a connection on, and holds it to end with its command.
fn handed_on(scene: &Scene) {
    let taker = UnixListener::bind(scene.files.path("repo/taker")).unwrap();
    let mut stream = thread::scope(|scope| {
        let running = scope.spawn(|| scene.connected(HAND_ON));
        let mut stream = take(&taker);
        assert!(flows(&mut stream), "the control: while the command runs");
        scene.files.put("repo/go", "");
        assert_eq!(running.join().unwrap().exit_code, Some(0));
        stream
    });
    let heard = scene.server.heard();
    assert!(!flows(&mut stream));
    thread::sleep(A_WHILE);
    assert_eq!((heard, scene.server.heard()), (5, 5), "the server hears nothing more");
}

fn a_connection_outlives_all_commands_but_the_last() {
    let scene = Scene::new("allow");
    let taker = UnixListener::bind(scene.files.path("repo/taker")).unwrap();
    let stays = "open('/repo/stays', 'w').close()\n\
                 until('/repo/end')\n";
    thread::scope(|scope| {
        let last = scope.spawn(|| scene.connected(stays));
        eventually("the other command", || scene.files.exists("repo/stays").then_some(()));
        let first = scope.spawn(|| scene.connected(HAND_ON));
        let mut stream = take(&taker);
        scene.files.put("repo/go", "");
        assert_eq!(first.join().unwrap().exit_code, Some(0));
        assert!(flows(&mut stream), "another command runs");
        scene.files.put("repo/end", "");
        assert_eq!(last.join().unwrap().exit_code, Some(0));
        assert!(!flows(&mut stream));
    });
}

fn a_connection_in_the_background_ends() {
    let scene = Scene::new("allow");
    // The child has another session, and goes on when its parent has ended.
    let forks = "if os.fork():\n    until('/repo/go')\n\
                 else:\n    os.setsid()\n    os.closerange(1, 3)\n    \
                 while True:\n        server.sendall(b'\\1')\n        time.sleep(0.01)\n";
    thread::scope(|scope| {
        let running = scope.spawn(|| scene.connected(forks));
        eventually("bytes of the child", || (scene.server.heard() > 5).then_some(()));
        scene.files.put("repo/go", "");
        let outcome = running.join().unwrap();
        assert_eq!(outcome.exit_code, Some(0), "{outcome:?}");
    });
    // The server reads the bytes that were on their way.
    thread::sleep(A_WHILE);
    let heard = scene.server.heard();
    thread::sleep(A_WHILE);
    assert_eq!(scene.server.heard(), heard);
}

fn a_socket_that_was_handed_on_leads_nowhere() {
    let scene = Scene::new("allow");
    let taker = UnixListener::bind(scene.files.path("repo/taker")).unwrap();
    // Not connected yet, but of the network in which it was made.
    let new = format!("server.close()\nserver = socket.socket()\n{HAND_ON}");
    let server = SocketAddr::from((Ipv4Addr::LOCALHOST, scene.server.port));
    let connects = |mut stream: TcpStream| {
        rustix::net::connect(&stream, &server).is_ok() && flows(&mut stream)
    };
    thread::scope(|scope| {
        let hand_on = || {
            let running = scope.spawn(|| scene.connected(&new));
            (running, take(&taker))
        };
        let (first, early) = hand_on();
        let (second, late) = hand_on();
        assert!(connects(early), "the control: while the commands run");
        scene.files.put("repo/go", "");
        for running in [first, second] {
            assert_eq!(running.join().unwrap().exit_code, Some(0));
        }
        assert!(!connects(late), "no command runs");
    });
    assert_eq!(scene.connected(PING).stdout, "ping\n", "the next command is not held up");
}
