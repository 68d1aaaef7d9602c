//! Programs that connect to a host as if nothing were in between.

#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::common::*;
use zonekeep_network::{Event, Reason, Refused};
use zonekeep_policy::limit::Limits;

const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;

fn local(server: &Server) -> String {
    format!("localhost:{}", server.at.port())
}

#[test]
fn bytes_pass_both_ways_and_so_do_ends() {
    let server = Server::new(HERE, |mut stream, hear| {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        hear(&all);
        stream.write_all(b"bye").unwrap();
    });
    let gate = allow([local(&server)]).open();
    let mut stream = gate.local(server.at.port());
    say(&mut stream, "\x01one");
    say(&mut stream, "two");
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_all(&mut stream), "bye");
    assert_eq!(server.heard("two"), "\x01onetwo");
    drop(stream);
    gate.desk.wait("end", |event| matches!(event, Event::Closed { out: 7, into: 3, .. }));
}

#[test]
fn a_server_may_speak_first() {
    let server = Server::new(HERE, |mut stream, hear| {
        stream.write_all(b"220 hello\r\n").unwrap();
        let mut buffer = [0; 64];
        let count = stream.read(&mut buffer).unwrap();
        hear(&buffer[..count]);
    });
    let gate = allow([local(&server)]).open();
    let mut stream = gate.local(server.at.port());
    assert_eq!(read_exactly(&mut stream, 11), "220 hello\r\n");
    say(&mut stream, "QUIT\r\n");
    assert_eq!(server.heard("QUIT"), "QUIT\r\n");
}

#[test]
fn much_passes_unchanged_in_both_directions() {
    const SIZE: usize = 24 << 20;
    let byte = |index: usize| (index.wrapping_mul(2_654_435_761) >> 13) as u8;
    // Made before anybody waits for it.
    let data: Arc<Vec<u8>> = Arc::new((0..SIZE).map(byte).collect());
    let (sent, back) = (Arc::clone(&data), Arc::clone(&data));
    let (told, heard) = std::sync::mpsc::sync_channel(1);
    let server = Server::new(HERE, move |stream, _| {
        let (mut from, mut to) = (stream.try_clone().unwrap(), stream);
        let back = Arc::clone(&back);
        let sender = std::thread::spawn(move || {
            to.write_all(&back).unwrap();
            to.shutdown(Shutdown::Write).unwrap();
        });
        let mut all = Vec::new();
        from.read_to_end(&mut all).unwrap();
        sender.join().unwrap();
        told.send(all).unwrap();
    });
    let gate = allow([local(&server)]).open();
    let mut stream = gate.local(server.at.port());
    let mut to = stream.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        to.write_all(&[0]).unwrap();
        to.write_all(&sent).unwrap();
        to.shutdown(Shutdown::Write).unwrap();
    });
    let mut all = Vec::new();
    let read = stream.read_to_end(&mut all);
    assert!(read.is_ok(), "{read:?} after {} bytes: {:#?}", all.len(), gate.desk.events());
    assert!(all == *data, "{} bytes came", all.len());
    sender.join().unwrap();
    let heard = heard.recv_timeout(SOON).unwrap();
    assert!(heard.split_first() == Some((&0, &data[..])), "{} bytes were heard", heard.len());
    drop(stream);
    let (out, into) = (SIZE as u64 + 1, SIZE as u64);
    let whole = |event: &Event| matches!(event, Event::Closed { out: o, into: i, .. } if (*o, *i) == (out, into));
    gate.desk.wait("end", whole);
}

#[test]
fn a_server_may_fall_silent_before_the_client_speaks() {
    let (told, heard) = std::sync::mpsc::sync_channel(1);
    let server = Server::new(HERE, move |mut stream, _| {
        stream.write_all(b"hello\n").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut all = String::new();
        stream.read_to_string(&mut all).unwrap();
        told.send(all).unwrap();
    });
    let gate = allow([local(&server)]).open();
    let mut stream = gate.local(server.at.port());
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    assert_eq!(all, "hello\n");
    say(&mut stream, "late\n");
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(heard.recv_timeout(std::time::Duration::from_secs(10)).unwrap(), "late\n");
}

#[test]
fn requests_are_written_anew_and_answers_pass() {
    let server = Server::http(HERE, "ok");
    let port = server.at.port();
    let gate = allow([local(&server)]).open();
    let mut stream = gate.local(port);
    say(&mut stream, format!("GET /a HTTP/1.1\r\nhost:  LOCALHOST:{port}\r\nX-A:  1 \r\n\r\n"));
    assert!(read_head(&mut stream).starts_with("HTTP/1.1 200 OK"));
    assert_eq!(read_exactly(&mut stream, 2), "ok");
    let body = "6;ext=1\r\nabcdef\r\n1\r\ng\r\n0\r\n\r\n";
    say(
        &mut stream,
        format!(
            "PUT /b HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nTransfer-Encoding: chunked\r\n\r\n{body}"
        ),
    );
    assert!(read_head(&mut stream).starts_with("HTTP/1.1 200 OK"));
    let heard = server.heard("0\r\n\r\n");
    assert_eq!(
        heard,
        format!(
            "GET /a HTTP/1.1\r\nHost: localhost:{port}\r\nX-A: 1\r\n\r\n\
             PUT /b HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nTransfer-Encoding: chunked\r\n\r\n\
             6\r\nabcdef\r\n1\r\ng\r\n0\r\n\r\n"
        )
    );
}

/// Sends a first request that passes and then what an attacker would send, and
/// returns what the server heard of that.
fn smuggle(attack: impl Fn(u16) -> String) -> (String, Option<Reason>) {
    let server = Server::http(HERE, "ok");
    let port = server.at.port();
    let gate = allow([local(&server)]).open();
    let mut stream = gate.local(port);
    let first = format!("GET /1 HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n");
    say(&mut stream, &first);
    read_head(&mut stream);
    read_exactly(&mut stream, 2);
    // The gate may have cut the connection before all of it was sent.
    let _ = stream.write_all(attack(port).as_bytes());
    let _ = stream.shutdown(Shutdown::Write);
    read_all(&mut stream);
    gate.gate.settle(Duration::from_secs(5));
    let reason = gate.desk.events().into_iter().find_map(|event| match event {
        Event::Refused { reason, .. } => Some(reason),
        _ => None,
    });
    let heard = server.heard("/1");
    (heard.strip_prefix(&first).unwrap().to_owned(), reason)
}

#[test]
fn later_requests_are_held_to_the_host_as_well() {
    let (heard, reason) =
        smuggle(|port| format!("GET /2 HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"));
    assert!(heard.contains("GET /2 ") && reason.is_none(), "the control: {heard:?} {reason:?}");
    let (heard, reason) = smuggle(|_| "GET /2 HTTP/1.1\r\nHost: evil.test\r\n\r\n".to_owned());
    assert_eq!((heard.as_str(), reason), ("", Some(Reason::Mismatch)));
}

#[test]
fn nothing_is_smuggled_in_a_body() {
    let evil = "GET /evil HTTP/1.1\r\nHost: evil.test\r\n\r\n";
    let post = |port: u16, lines: &str, body: &str| {
        format!("POST /2 HTTP/1.1\r\nHost: localhost:{port}\r\n{lines}\r\n{body}")
    };
    // Within its length, it is a body; behind it, a request that is refused.
    let length = evil.len();
    let (heard, reason) =
        smuggle(|port| post(port, &format!("Content-Length: {length}\r\n"), evil));
    assert!(heard.ends_with(evil) && reason.is_none(), "{heard:?}");
    let attacks: [(&str, String); 9] = [
        ("Content-Length: 4\r\n", format!("body{evil}")),
        ("Content-Length: 0\r\n", evil.to_owned()),
        ("", evil.to_owned()),
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", format!("0\r\n\r\n{evil}")),
        ("Transfer-Encoding: chunked\r\n", format!("0\r\n\r\n{evil}")),
        ("Transfer-Encoding: chunked\r\n", format!("1\r\nab\r\n0\r\n\r\n{evil}")),
        ("Transfer-Encoding: chunked\r\n", format!("0\r\nHost: evil.test\r\n\r\n{evil}")),
        ("Transfer-Encoding : chunked\r\n", format!("0\r\n\r\n{evil}")),
        ("Content-Length: 4\r\nContent-Length: 100\r\n", format!("body{evil}")),
    ];
    for (lines, body) in attacks {
        let (heard, reason) = smuggle(|port| post(port, lines, &body));
        assert!(!heard.contains("evil"), "{lines:?} {body:?}: {heard:?}");
        let refused = matches!(reason, Some(Reason::Protocol | Reason::Mismatch));
        assert!(refused, "{lines:?} {body:?}: {reason:?}");
    }
}

#[test]
fn a_body_that_no_server_expects_is_the_end_of_the_connection() {
    let server = Server::http(HERE, "own");
    let gate = allow([local(&server)]).open();
    let port = server.at.port();
    for (method, last) in [("GET", true), ("DELETE", true), ("POST", false), ("PUT", false)] {
        let mut stream = gate.local(port);
        let head = format!("{method} /{method} HTTP/1.1\r\nHost: localhost:{port}\r\n");
        say(&mut stream, format!("{head}Content-Length: 4\r\n\r\nbody"));
        let heard = server.heard(&format!("/{method} "));
        let heard = heard.rsplit(&format!("{method} /")).next().unwrap_or_default();
        assert_eq!(heard.contains("Connection: close"), last, "{heard}");
    }
}

#[test]
fn a_host_elsewhere_is_refused_with_an_answer() {
    let server = Server::http(HERE, "ok");
    let port = server.at.port();
    let gate = allow([local(&server)]).open();
    for host in ["evil.test", "10.0.0.1", "localhost:1"] {
        let mut stream = gate.local(port);
        say(&mut stream, format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        let answer = read_all(&mut stream);
        assert!(answer.starts_with("HTTP/1.1 403 Forbidden"), "{host}: {answer}");
        assert!(answer.contains(&format!("the request is for '{host}'")), "{answer}");
    }
    let mut stream = gate.local(port);
    say(&mut stream, "GET / HTTP/1.1\r\nHost: app.localhost\r\n\r\n");
    assert!(read_head(&mut stream).starts_with("HTTP/1.1 200"));
}

/// A server that agrees to a web socket, or to nothing, and then echoes.
fn upgrader(agrees: bool) -> Server {
    Server::new(HERE, move |mut stream, hear| {
        let head = read_head(&mut stream);
        hear(head.as_bytes());
        let answer = if agrees && head.contains("Upgrade: websocket") {
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: x\r\n\r\n"
        } else {
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        };
        stream.write_all(answer.as_bytes()).unwrap();
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            hear(&buffer[..count]);
            let _ = stream.write_all(&buffer[..count]);
        }
    })
}

const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\n";

#[test]
fn a_web_socket_is_raw_after_the_server_agreed() {
    let server = upgrader(true);
    let gate = allow([local(&server)]).open();
    let mut stream = gate.local(server.at.port());
    say(&mut stream, format!("GET / HTTP/1.1\r\nHost: localhost\r\n{UPGRADE}\x01early"));
    assert!(read_head(&mut stream).starts_with("HTTP/1.1 101"));
    assert_eq!(read_exactly(&mut stream, 6), "\x01early");
    say(&mut stream, "\x02raw\n\n");
    assert_eq!(read_exactly(&mut stream, 6), "\x02raw\n\n");
    assert_eq!(gate.desk.refusals(), 0);
}

#[test]
fn without_the_servers_word_requests_stay_requests() {
    let server = upgrader(false);
    let gate = allow([local(&server)]).open();
    let mut stream = gate.local(server.at.port());
    say(&mut stream, format!("GET / HTTP/1.1\r\nHost: localhost\r\n{UPGRADE}"));
    assert!(read_head(&mut stream).starts_with("HTTP/1.1 200"));
    say(&mut stream, "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n");
    assert!(read_all(&mut stream).starts_with("HTTP/1.1 403"));
    gate.desk.refused(Reason::Mismatch);
    assert!(!server.heard("GET").contains("evil"));

    // Not as a second request, whatever the server would say.
    let server = upgrader(true);
    let gate = allow([local(&server)]).open();
    let mut stream = gate.local(server.at.port());
    say(&mut stream, "GET /1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(read_head(&mut stream).starts_with("HTTP/1.1 200"));
    say(&mut stream, format!("GET /2 HTTP/1.1\r\nHost: localhost\r\n{UPGRADE}"));
    assert!(!server.heard("/2").contains("Upgrade"));
}

#[test]
fn limits_cut_connections() {
    let server = Server::echo(HERE);
    let port = server.at.port();
    let with = |limits: Limits| {
        let mut plan = allow([local(&server)]);
        plan.limits = limits;
        plan.open()
    };
    let gate = with(Limits { connections: Some(1), ..Limits::none() });
    let mut first = gate.local(port);
    say(&mut first, "\x01a");
    assert_eq!(read_exactly(&mut first, 2), "\x01a");
    let mut second = gate.local(port);
    assert!(is_cut(&mut second));
    gate.desk.refused(Reason::Limit);
    drop(gate);

    let gate = with(Limits { network_out: Some(10), ..Limits::none() });
    let mut stream = gate.local(port);
    say(&mut stream, "\x01234567890");
    assert_eq!(read_exactly(&mut stream, 10), "\x01234567890");
    say(&mut stream, "x");
    assert!(is_cut(&mut stream));
    gate.desk.refused(Reason::Limit);
    assert_eq!(gate.account.used().out, 10);
    drop(gate);

    let gate = with(Limits { network_in: Some(4), ..Limits::none() });
    let mut stream = gate.local(port);
    say(&mut stream, "\x01234567890");
    assert!(read_all(&mut stream).len() <= 4);
    gate.desk.refused(Reason::Limit);
    assert_eq!(gate.account.used().into, 4);
}

#[test]
fn somebody_is_asked_once_for_all_who_wait() {
    let server = Server::echo(HERE);
    let port = server.at.port();
    let ask = |answer| {
        let mut plan = allow(Vec::<String>::new());
        plan.ask = vec![local(&server)];
        plan.answer = answer;
        plan.delay = Duration::from_millis(300);
        Arc::new(plan.open())
    };
    let gate = ask(None);
    let clients: Vec<_> = (0..5)
        .map(|_| {
            let gate = gate.clone();
            std::thread::spawn(move || {
                let mut stream = gate.local(port);
                say(&mut stream, "\x01a");
                assert_eq!(read_exactly(&mut stream, 2), "\x01a");
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    assert_eq!(gate.desk.asked.load(Ordering::SeqCst), 1);
    gate.local(port).write_all(b"\x01").unwrap();
    gate.desk.wait("another", |_| gate.desk.asked.load(Ordering::SeqCst) == 2);
    drop(gate);

    let gate = ask(Some(Refused::new("Cannot connect: the user declined.")));
    let mut stream = gate.local(port);
    say(&mut stream, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let answer = read_all(&mut stream);
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("declined"), "{answer}");
    let mut stream = gate.local(port);
    say(&mut stream, "\x01binary");
    assert!(is_cut(&mut stream));
    gate.desk.refused(Reason::Declined);
}

#[test]
fn a_question_that_nobody_waits_for_is_withdrawn() {
    let servers: Vec<Server> = (0..12).map(|_| Server::echo(HERE)).collect();
    let mut plan = allow(Vec::<String>::new());
    plan.ask = servers.iter().map(local).collect();
    plan.delay = Duration::from_secs(2);
    let gate = plan.open();
    let clients: Vec<_> = servers.iter().map(|server| gate.local(server.at.port())).collect();
    let asked = || gate.desk.asked.load(Ordering::SeqCst);
    let withdrawn = || gate.desk.withdrawn.load(Ordering::SeqCst);
    let end = std::time::Instant::now() + SOON;
    while asked() < 8 && std::time::Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    gate.gate.cut();
    drop(clients);
    gate.gate.settle(SOON);
    while withdrawn() < 8 && std::time::Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!((asked(), withdrawn()), (8, 8), "the others were never put");
    let connected = |event: &Event| matches!(event, Event::Connected { .. });
    assert!(!gate.desk.events().iter().any(connected), "a late yes is for nobody");
}

#[test]
fn connections_can_be_cut_and_made_anew() {
    let server = Server::echo(HERE);
    let gate = allow([local(&server)]).open();
    let mut old = gate.local(server.at.port());
    say(&mut old, "\x01a");
    assert_eq!(read_exactly(&mut old, 2), "\x01a");
    gate.gate.cut();
    assert_eq!(read_all(&mut old), "");
    gate.gate.settle(SOON);
    gate.desk.wait("end", |event| matches!(event, Event::Closed { .. }));
    let mut new = gate.local(server.at.port());
    say(&mut new, "\x01b");
    assert_eq!(read_exactly(&mut new, 2), "\x01b");
}

#[test]
fn a_server_that_has_heard_enough_is_still_heard() {
    // It answers after the head and hangs up while the body comes.
    let server = Server::new(HERE, |mut stream, _| {
        read_head(&mut stream);
        stream.write_all(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n").unwrap();
    });
    let port = server.at.port();
    let gate = allow([local(&server)]).open();
    for _ in 0..20 {
        let mut stream = gate.local(port);
        let head =
            format!("PUT / HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Length: 9000000\r\n\r\n");
        say(&mut stream, head);
        let mut body = stream.try_clone().unwrap();
        let sender = std::thread::spawn(move || drop(body.write_all(&[b'x'; 9_000_000])));
        assert!(read_head(&mut stream).starts_with("HTTP/1.1 413"));
        drop(stream);
        sender.join().unwrap();
    }
}

#[test]
fn a_gate_that_is_dropped_takes_its_connections_along() {
    let server = Server::echo(HERE);
    let gate = allow([local(&server)]).open();
    let mut stream = gate.local(server.at.port());
    say(&mut stream, "\x01a");
    assert_eq!(read_exactly(&mut stream, 2), "\x01a");
    let (desk, at) = (gate.desk.clone(), gate.proxy);
    drop(gate);
    assert_eq!(read_all(&mut stream), "");
    assert!(std::net::TcpStream::connect(at).is_err());
    assert!(desk.events().iter().any(|event| matches!(event, Event::Closed { .. })));
}
