//! Connections to names: what the server hears of what a client says.

use std::net::Ipv4Addr;
use std::sync::Mutex;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use zonekeep_policy::hosts::{HostPattern, Hosts, PresetHosts};
use zonekeep_policy::limit::Limits;
use zonekeep_policy::policy::{Consent, Network};
use zonekeep_policy::source::Ruled;

use super::super::{Desk, Layout, Refused, Setting};
use super::*;
use crate::event::Event;

#[derive(Default)]
struct Quiet(Mutex<Vec<Event>>);

impl Desk for Quiet {
    fn ask(&self, _: &zonekeep_policy::hosts::ConnectQuestion) -> Result<(), Refused> {
        Err(Refused::new("no"))
    }

    fn tell(&self, event: &Event) {
        lock(&self.0).push(event.clone());
    }
}

/// What came of a connection.
#[derive(Debug)]
struct Outcome {
    /// What the server heard.
    server: Vec<u8>,
    /// What the client heard.
    client: Vec<u8>,
    reason: Option<Reason>,
}

/// Takes a client's bytes through the gate to a server that says `answer` when it
/// has heard something, and then `more` of the client.
async fn pass(to: &str, says: &[u8], answer: &[u8], more: &[u8]) -> Outcome {
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let at = server.local_addr().unwrap();
    let entries = [to.to_owned(), at.to_string()];
    let pattern = |text: &String| Ruled::default_of(HostPattern::parse(text).unwrap());
    let allow = entries.iter().map(pattern).collect();
    let setting = Setting {
        network: Network::Hosts(Hosts { allow, ..Hosts::default() }),
        presets: PresetHosts::new(),
        consent: Ruled::default_of(Consent::Tool),
        secrets: Vec::new(),
        authority: None,
        limits: Limits::none(),
        account: Arc::default(),
        token: None,
    };
    let desk = Arc::new(Quiet::default());
    let layout = Layout::of(&setting.network, &setting.presets);
    let shared = Arc::new(Shared::new(setting, &layout, desk.clone()).unwrap());

    let answer = answer.to_vec();
    let served = tokio::spawn(async move {
        let (mut stream, _) = server.accept().await.unwrap();
        let mut heard = vec![0; 65536];
        let count = stream.read(&mut heard).await.unwrap_or(0);
        heard.truncate(count);
        if count > 0 {
            stream.write_all(&answer).await.unwrap();
        }
        let _ = stream.read_to_end(&mut heard).await;
        heard
    });
    let inside = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let mut client = TcpStream::connect(inside.local_addr().unwrap()).await.unwrap();
    let (accepted, _) = inside.accept().await.unwrap();
    let to: Destination = Destination::parse(to).unwrap();
    let gate = tokio::spawn(async move {
        // The name itself leads nowhere here; the server's address stands for it.
        let address = Destination { host: Host::Address(at.ip()), port: at.port() };
        let permit = shared.permit(&address).await.unwrap();
        let line = shared.dial(&permit).await.unwrap();
        let mut passage = Passage::new(&shared, accepted, Inbox::default(), to);
        let ended = passage.go(&permit, Some(line)).await;
        passage.end(ended).await;
    });
    let (says, more) = (says.to_vec(), more.to_vec());
    client.write_all(&says).await.unwrap();
    let mut heard = Vec::new();
    if !more.is_empty() {
        let mut buffer = vec![0; 65536];
        let count = client.read(&mut buffer).await.unwrap();
        heard.extend_from_slice(&buffer[..count]);
        client.write_all(&more).await.unwrap();
    }
    let _ = client.shutdown().await;
    let _ = client.read_to_end(&mut heard).await;
    gate.await.unwrap();
    let server = timeout(Duration::from_secs(20), served).await.unwrap().unwrap();
    let reason = lock(&desk.0).iter().find_map(|event| match event {
        Event::Refused { reason, .. } => Some(*reason),
        _ => None,
    });
    Outcome { server, client: heard, reason }
}

/// Returns the hello of a real client for a name or an address.
fn hello(name: &str) -> Vec<u8> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut bytes = Vec::new();
    client.write_tls(&mut bytes).unwrap();
    bytes
}

const SERVED: &[u8] = b"\x15\x03\x03\x00\x02\x02\x28";

#[tokio::test]
async fn tls_passes_for_the_name_that_was_judged_and_no_other() {
    for port in [443, 80, 8443] {
        let to = format!("a.test:{port}");
        let own = hello("a.test");
        let outcome = pass(&to, &own, SERVED, b"").await;
        assert_eq!((outcome.server.as_slice(), outcome.reason), (&own[..], None), "{to}");
        assert_eq!(outcome.client, SERVED);
        for (other, reason) in [
            ("b.test", Reason::Mismatch),
            ("x.a.test", Reason::Mismatch),
            ("127.0.0.1", Reason::NoName), // a hello for an address has no name
        ] {
            let outcome = pass(&to, &hello(other), SERVED, b"").await;
            assert_eq!(outcome.reason, Some(reason), "{to} {other}");
            assert_eq!(outcome.server, b"", "{to} {other}");
            assert_eq!(outcome.client, tls::ALERT, "{to} {other}");
        }
    }
}

#[tokio::test]
async fn a_hello_may_come_in_pieces_and_early_data_follows() {
    let mut says = hello("a.test");
    let own = says.clone();
    says.extend_from_slice(b"\x17\x03\x03\x00\x01x");
    let outcome = pass("a.test:443", &says, SERVED, b"").await;
    assert_eq!((outcome.server, outcome.reason), (says, None));
    assert!(outcome.client.starts_with(SERVED));
    let outcome = pass("a.test:443", &own[..own.len() - 1], SERVED, b"").await;
    assert_eq!((outcome.server.as_slice(), outcome.client.as_slice()), (&b""[..], &b""[..]));
}

/// The bytes of a server that asks for another hello.
fn retry() -> Vec<u8> {
    const RANDOM: [u8; 32] = [
        0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8,
        0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8,
        0x33, 0x9c,
    ];
    let mut bytes = vec![22, 3, 3, 0, 44, 2, 0, 0, 40, 3, 3];
    bytes.extend_from_slice(&RANDOM);
    bytes.extend_from_slice(&[0, 0x13, 1, 0, 0, 0]);
    bytes
}

#[tokio::test]
async fn a_second_hello_is_held_to_the_name_as_well() {
    let first = hello("a.test");
    let outcome = pass("a.test:443", &first, &retry(), &first).await;
    assert_eq!(outcome.reason, None);
    assert_eq!(outcome.server, [first.clone(), first.clone()].concat());
    let outcome = pass("a.test:443", &first, &retry(), &hello("b.test")).await;
    assert_eq!(outcome.reason, Some(Reason::Mismatch));
    assert_eq!(outcome.server, first);
}

#[tokio::test]
async fn tls_cannot_hide_behind_other_bytes() {
    let (own, other) = (hello("a.test"), hello("b.test"));
    // Some servers pass over a warning before the hello.
    let alert = b"\x15\x03\x01\x00\x02\x01\x5a";
    for port in [443, 8443] {
        let says = [&alert[..], &other].concat();
        let outcome = pass(&format!("a.test:{port}"), &says, SERVED, b"").await;
        assert_eq!((outcome.server.len(), outcome.reason), (0, Some(Reason::Protocol)), "{port}");
    }
    // Others turn to TLS later.
    for first in [&b"STARTTLS\r\n"[..], b"\0\0\0\x08\x04\xd2\x16\x2f"] {
        let outcome = pass("a.test:5432", first, b"S", &own).await;
        assert_eq!((outcome.server, outcome.reason), ([first, &own].concat(), None));
        let outcome = pass("a.test:5432", first, b"S", &other).await;
        assert_eq!((outcome.server.as_slice(), outcome.reason), (first, Some(Reason::Mismatch)));
    }
}

#[tokio::test]
async fn requests_pass_for_the_host_that_was_judged_and_no_other() {
    let request = |host: &str| format!("GET / HTTP/1.1\r\nHost: {host}\r\nX: y\r\n\r\n");
    let answer = b"HTTP/1.1 204 No Content\r\n\r\n";
    for port in [80, 443, 8080] {
        let to = format!("a.test:{port}");
        for host in ["a.test", "A.Test.", &to] {
            let outcome = pass(&to, request(host).as_bytes(), answer, b"").await;
            let site = if host == to { &to } else { "a.test" };
            assert_eq!(outcome.reason, None, "{to} {host}");
            assert_eq!(outcome.server, request(site).as_bytes(), "{to} {host}");
            assert_eq!(outcome.client, answer, "{to} {host}");
        }
        for host in ["b.test", "127.0.0.1", "localhost", "a.test:1", "a.test.evil.test"] {
            let outcome = pass(&to, request(host).as_bytes(), answer, b"").await;
            assert_eq!(outcome.reason, Some(Reason::Mismatch), "{to} {host}");
            assert_eq!(outcome.server, b"", "{to} {host}");
            assert!(outcome.client.starts_with(b"HTTP/1.1 403 "), "{to} {host}");
        }
        let outcome = pass(&to, b"GET / HTTP/1.0\r\n\r\n", answer, b"").await;
        assert_eq!((outcome.reason, outcome.server), (Some(Reason::NoName), Vec::new()), "{to}");
    }
}

#[tokio::test]
async fn what_some_server_might_take_for_a_request_is_none_that_passes() {
    let attacks = [
        "GET / HTTP/1.1\nHost: b.test\n\n",
        " GET / HTTP/1.1\r\nHost: b.test\r\n\r\n",
        "\r\n\r\nGET / HTTP/1.1\r\nHost: b.test\r\n\r\n",
        "get / http/1.1\r\nhost: b.test\r\n\r\n",
        "GET\t/\tHTTP/1.1\r\nHost: b.test\r\n\r\n",
        "GET /\0 HTTP/1.1\r\nHost: b.test\r\n\r\n",
        "GET http://b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET /\r\nHost: b.test\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "CONNECT b.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET http://b.test/path\r\n",
        "GET http://b.test/ HTTP/1.0",
        "\x0cGET /x HTTP/1.1\r\nHost: b.test\r\n\r\n",
        "GET\x0b/x HTTP/1.1\r\nHost: b.test\r\n\r\n",
        "POST /\0x HTTP/1.1\r\nHost: b.test\r\n\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.1 1 2\r\nGET / HTTP/1.1\r\nHost: b.test\r\n\r\n",
    ];
    for attack in attacks {
        for port in [80, 8080] {
            let to = format!("a.test:{port}");
            let outcome = pass(&to, attack.as_bytes(), b"HTTP/1.1 200 OK\r\n\r\n", b"").await;
            assert_eq!(outcome.server, b"", "{to} {attack:?}");
            assert!(outcome.reason.is_some(), "{to} {attack:?}");
        }
    }
}

#[tokio::test]
async fn other_protocols_pass_where_the_port_is_theirs() {
    for says in
        ["SSH-2.0-x\r\n", "EHLO x\r\n", "\0\0\0\x08\x04\x52\x16\x2f", "*1\r\n$4\r\nPING\r\n"]
    {
        let outcome = pass("a.test:2222", says.as_bytes(), b"well", b"").await;
        assert_eq!((outcome.server, outcome.reason), (says.as_bytes().to_vec(), None), "{says:?}");
        assert_eq!(outcome.client, b"well");
        let outcome = pass("a.test:443", says.as_bytes(), b"well", b"").await;
        assert_eq!(outcome.reason, Some(Reason::Protocol), "{says:?}");
        assert_eq!((outcome.server.len(), outcome.client.len()), (0, 0), "{says:?}");
    }
    // What passes as binary is cut where it turns into a request after all.
    let outcome = pass("a.test:2222", b"P\0ST /x ", b"well", b"HTTP/1.1\r\nHost: b.test\r\n").await;
    assert_eq!(outcome.reason, Some(Reason::Protocol));
    assert_eq!(outcome.server, b"P\0ST /x ");
    // Not a whole line, but all that there will ever be.
    let outcome = pass("a.test:2222", b"PING", b"well", b"").await;
    assert_eq!((outcome.server.as_slice(), outcome.reason), (&b"PING"[..], None));
}

#[test]
fn a_connection_takes_little_memory() {
    fn size<F>(_: fn(TcpStream, Arc<Shared>) -> F) -> usize {
        size_of::<F>()
    }
    let (hosts, proxy) = (size(serve), size(super::super::proxy::serve));
    assert!(hosts < 16 * 1024 && proxy < 16 * 1024, "{hosts} and {proxy} bytes");
}
