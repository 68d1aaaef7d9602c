//! Programs that ask a proxy.

#![allow(clippy::unwrap_used)]

use std::net::Ipv4Addr;
use std::sync::atomic::Ordering;

use crate::common::*;
use zonekeep_network::{Event, Reason};

const B: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const C: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);

#[test]
fn a_tunnel_leads_to_an_allowed_host_and_is_on_record() {
    let server = Server::echo(B);
    let gate = allow([server.at]).open();
    let (mut stream, line) = gate.tunnel(server.at);
    assert_eq!(line, "HTTP/1.1 200 Connection established");
    say(&mut stream, "\x01hello");
    assert_eq!(read_exactly(&mut stream, 6), "\x01hello");
    drop(stream);
    let is_closed = |event: &Event| matches!(event, Event::Closed { .. });
    match gate.desk.wait("end", is_closed) {
        Event::Closed { to, address, out, into, .. } => {
            assert_eq!((to.to_string(), address), (server.at.to_string(), server.at));
            assert_eq!((out, into), (6, 6));
        }
        _ => unreachable!(),
    }
    gate.gate.settle(SOON);
    let used = gate.account.used();
    assert_eq!((used.out, used.into, used.connections), (6, 6, 1));
}

#[test]
fn a_tunnel_elsewhere_is_refused_with_the_reason() {
    let server = Server::echo(B);
    let gate = allow([server.at.to_string(), "a.test".to_owned()]).open();
    for to in ["b.test:443".to_owned(), format!("127.0.0.3:{}", server.at.port())] {
        let (mut stream, line) = gate.tunnel(&to);
        assert_eq!(line, "HTTP/1.1 403 Forbidden", "{to}");
        let words = read_all(&mut stream);
        assert!(words.starts_with(&format!("Cannot connect to '{to}'")), "{words}");
        assert!(words.contains("a.test"), "{words}");
    }
    for to in ["a.test:22", "127.1:80", "0x7f000001:80", "a.test:0", "a.test", "u@a.test:443"] {
        let (_, line) = gate.tunnel(to);
        assert!(line.starts_with("HTTP/1.1 40"), "{to}: {line}");
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 0);
    assert_eq!(gate.desk.refusals(), 8);
    assert!(gate.desk.refused(Reason::Name).1.contains("127.1"));
}

#[test]
fn nobody_there_is_no_refusal_by_rule() {
    let gone = Server::echo(B).at;
    let gate = allow([gone]).open();
    let (mut stream, line) = gate.tunnel(gone);
    assert_eq!(line, "HTTP/1.1 502 Bad Gateway");
    assert!(read_all(&mut stream).contains("nobody listens there"));
    gate.desk.refused(Reason::Unreachable);
}

#[test]
fn requests_find_their_host_one_by_one() {
    let (b, c) = (Server::http(B, "this is b"), Server::http(C, "this is c"));
    let gate = allow([b.at, c.at]).open();
    let mut stream = gate.proxy();
    for (server, body) in [(&b, "this is b"), (&b, "this is b"), (&c, "this is c")] {
        let at = server.at;
        say(
            &mut stream,
            format!(
                "GET http://{at}/x HTTP/1.1\r\nHost: {at}\r\nProxy-Connection: keep-alive\r\n\
                 Accept: */*\r\n\r\n"
            ),
        );
        assert!(read_head(&mut stream).starts_with("HTTP/1.1 200 OK"));
        assert_eq!(read_exactly(&mut stream, body.len()), body);
    }
    let request = |at| format!("GET /x HTTP/1.1\r\nHost: {at}\r\nAccept: */*\r\n\r\n");
    assert_eq!(b.heard("\r\n\r\n"), request(b.at).repeat(2), "one connection, two requests");
    assert_eq!(c.heard("\r\n\r\n"), request(c.at));
    assert_eq!(gate.desk.refusals(), 0);
}

#[test]
fn a_request_for_another_host_must_wait_for_the_answer() {
    // One that never answers.
    let b = Server::new(B, |mut stream, hear| {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = std::io::Read::read(&mut stream, &mut buffer) {
            hear(&buffer[..count]);
        }
    });
    let c = Server::http(C, "this is c");
    let gate = allow([b.at, c.at]).open();
    let mut stream = gate.proxy();
    let request = |at| format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\n\r\n");
    say(&mut stream, request(b.at) + &request(c.at));
    assert_eq!(read_all(&mut stream), "");
    let (_, detail) = gate.desk.refused(Reason::Protocol);
    assert!(detail.contains("another host"), "{detail}");
    assert_eq!(c.connections.load(Ordering::SeqCst), 0);
}

#[test]
fn a_request_must_say_one_host() {
    let b = Server::http(B, "this is b");
    let gate = allow([b.at.to_string(), "a.test".to_owned()]).open();
    let at = b.at;
    let cases = [
        (format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\n\r\n"), "200"),
        (format!("GET http://{at}/ HTTP/1.1\r\nHost: a.test\r\n\r\n"), "403"),
        (format!("GET http://{at}/ HTTP/1.1\r\nHost: {B}\r\n\r\n"), "200"),
        (format!("GET http://{at}/ HTTP/1.1\r\nHost: {B}:1\r\n\r\n"), "403"),
        (format!("GET http://{at}/ HTTP/1.0\r\n\r\n"), "403"),
        (format!("GET http://b.test/ HTTP/1.1\r\nHost: {at}\r\n\r\n"), "403"),
        (format!("GET https://{at}/ HTTP/1.1\r\nHost: {at}\r\n\r\n"), "400"),
        (format!("GET http://u:p@{at}/ HTTP/1.1\r\nHost: {at}\r\n\r\n"), "400"),
        (format!("GET / HTTP/1.1\r\nHost: {at}\r\n\r\n"), "403"),
        (format!("CONNECT {at} HTTP/1.1\r\nHost: a.test\r\n\r\n"), "403"),
        (format!("CONNECT {at} HTTP/1.1\r\nHost: {at}\r\nContent-Length: 5\r\n\r\n"), "400"),
        (format!("CONNECT {at} HTTP/1.1\r\n\r\n"), "200"),
    ];
    for (request, status) in cases {
        let mut stream = gate.proxy();
        say(&mut stream, &request);
        let head = read_head(&mut stream);
        assert_eq!(head.get(9..12), Some(status), "{request:?}: {head:?}");
    }
}

#[test]
fn what_goes_through_a_tunnel_is_held_to_the_host() {
    let b = Server::http(B, "this is b");
    let gate = allow([b.at]).open();
    let (mut stream, _) = gate.tunnel(b.at);
    say(&mut stream, format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", b.at));
    assert!(read_head(&mut stream).starts_with("HTTP/1.1 200"));
    let (mut stream, _) = gate.tunnel(b.at);
    say(&mut stream, "GET / HTTP/1.1\r\nHost: c.test\r\n\r\n");
    assert!(read_all(&mut stream).starts_with("HTTP/1.1 403"));
    assert!(gate.desk.refused(Reason::Mismatch).1.contains("c.test"));
    assert!(!b.heard("GET").contains("c.test"));
}

/// Speaks SOCKS5 for an address; returns the stream and the reply's code.
fn socks(gate: &Running, host: &[u8], port: u16) -> (std::net::TcpStream, u8) {
    let mut stream = gate.proxy();
    say(&mut stream, [5, 1, 0]);
    assert_eq!(read_exactly(&mut stream, 2).as_bytes(), [5, 0]);
    let mut request = vec![5, 1, 0];
    request.extend_from_slice(host);
    request.extend(port.to_be_bytes());
    say(&mut stream, request);
    let mut reply = [0; 10];
    std::io::Read::read_exact(&mut stream, &mut reply).unwrap();
    (stream, reply[1])
}

#[test]
fn socks_is_spoken_too() {
    let server = Server::echo(B);
    let gate = allow([server.at.to_string(), "a.test:80".to_owned()]).open();
    let port = server.at.port();
    let (mut stream, code) = socks(&gate, &[1, 127, 0, 0, 2], port);
    assert_eq!(code, 0);
    say(&mut stream, "\x01hi");
    assert_eq!(read_exactly(&mut stream, 3), "\x01hi");
    assert_eq!(socks(&gate, &[1, 127, 0, 0, 3], port).1, 2);
    assert_eq!(socks(&gate, b"\x03\x06b.test", 80).1, 2);
    assert_eq!(socks(&gate, b"\x03\x06a.test", 81).1, 2);
    assert_eq!(socks(&gate, b"\x03\x09127.0.0.2", port).1, 0, "an address as a name");
    assert_eq!(socks(&gate, b"\x03\x05127.2", port).1, 2);
    let mut old = gate.proxy();
    say(&mut old, [4, 1, 0, 80, 127, 0, 0, 2, 0]);
    assert_eq!(read_exactly(&mut old, 2).as_bytes(), [0, 91]);
    let mut bind = gate.proxy();
    say(&mut bind, [5, 1, 0, 5, 2, 0, 1, 127, 0, 0, 2, 0, 80]);
    assert_eq!(read_exactly(&mut bind, 4).as_bytes(), [5, 0, 5, 7]);
}

#[test]
fn a_proxy_on_the_host_wants_its_token() {
    let server = Server::echo(B);
    let mut plan = allow([server.at]);
    plan.token = Some("s3cret".to_owned());
    let gate = plan.on_host();
    let at = server.at;
    let ask = |authorization: &str| {
        let mut stream = gate.proxy();
        say(&mut stream, format!("CONNECT {at} HTTP/1.1\r\nHost: {at}\r\n{authorization}\r\n"));
        read_head(&mut stream)
    };
    let none = ask("");
    assert!(none.starts_with("HTTP/1.1 407 ") && none.contains("Basic realm"), "{none}");
    assert_eq!(gate.desk.refusals(), 0, "to ask first is usual");
    let right = "Proxy-Authorization: Basic em9uZWtlZXA6czNjcmV0\r\n";
    assert!(ask(right).starts_with("HTTP/1.1 200 "));
    let wrong = "Proxy-Authorization: Basic em9uZWtlZXA6czNjcmV4\r\n";
    assert!(ask(wrong).starts_with("HTTP/1.1 407 "));
    gate.desk.refused(Reason::Token);

    let login = |password: &[u8]| {
        let mut stream = gate.proxy();
        say(&mut stream, [5, 2, 0, 2]);
        assert_eq!(read_exactly(&mut stream, 2).as_bytes(), [5, 2]);
        let mut login = b"\x01\x08zonekeep".to_vec();
        login.push(u8::try_from(password.len()).unwrap());
        login.extend_from_slice(password);
        say(&mut stream, login);
        read_exactly(&mut stream, 2).as_bytes()[1]
    };
    assert_eq!((login(b"s3cret"), login(b"secret")), (0, 1));
    let mut open = gate.proxy();
    say(&mut open, [5, 1, 0]);
    let mut answer = [0; 2];
    std::io::Read::read_exact(&mut open, &mut answer).unwrap();
    assert_eq!(answer, [5, 0xff]);
}

#[test]
fn a_proxy_on_the_host_without_a_token_is_not_opened() {
    let outcome = std::panic::catch_unwind(|| allow(["a.test"]).on_host());
    assert!(outcome.is_err());
}
