//! Questions for names.

#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{SocketAddr, UdpSocket};

use crate::common::*;
use zonekeep_network::Reason;

const A: u16 = 1;
const AAAA: u16 = 28;
const SRV: u16 = 33;

fn question(name: &str, kind: u16) -> Vec<u8> {
    let mut message = vec![0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        message.push(u8::try_from(label.len()).unwrap());
        message.extend_from_slice(label.as_bytes());
    }
    message.push(0);
    message.extend(kind.to_be_bytes());
    message.extend([0, 1]);
    message
}

/// Returns what an answer says: its address, `none`, or the number of the error.
fn read(answer: &[u8]) -> String {
    assert_eq!(answer[..2], [0xab, 0xcd]);
    assert_eq!(answer[2] & 0x80, 0x80, "an answer");
    match (answer[3] & 15, answer[7]) {
        (0, 0) => "none".to_owned(),
        (0, 1) => {
            let ip: [u8; 4] = answer[answer.len() - 4..].try_into().unwrap();
            std::net::Ipv4Addr::from(ip).to_string()
        }
        (error, _) => error.to_string(),
    }
}

struct Asker {
    socket: UdpSocket,
    at: SocketAddr,
}

impl Asker {
    fn new(gate: &Running) -> Asker {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(SOON)).unwrap();
        Asker { socket, at: gate.at[&("127.0.0.1:53".parse().unwrap(), true)] }
    }

    fn ask(&self, name: &str, kind: u16) -> String {
        self.socket.send_to(&question(name, kind), self.at).unwrap();
        let mut answer = [0; 1500];
        let count = self.socket.recv(&mut answer).unwrap();
        read(&answer[..count])
    }
}

#[test]
fn allowed_names_have_an_address_and_others_do_not_exist() {
    let mut plan = allow(["a.test", "b.test:8080", "*.c.test", "localhost:5432", "d.test"]);
    plan.deny = vec!["d.test".to_owned()];
    let gate = plan.open();
    let asker = Asker::new(&gate);
    let cases = [
        ("a.test", A, "198.18.0.2"),
        ("A.TEST", A, "198.18.0.2"),
        ("b.test", A, "198.18.0.3"),
        ("x.c.test", A, "198.18.0.4"),
        ("y.x.c.test", A, "198.18.0.5"),
        ("x.c.test", A, "198.18.0.4"),
        ("host.zonekeep", A, "198.18.0.1"),
        ("localhost", A, "127.0.0.1"),
        ("a.test", AAAA, "none"),
        ("a.test", 65, "none"),
        ("c.test", A, "3"),
        ("d.test", A, "3"),
        ("evil.test", A, "3"),
        ("evil.test", AAAA, "3"),
        ("aa.test", A, "3"),
        ("_srv._tcp.evil2.test", SRV, "3"),
        ("1.0.0.127.in-addr.arpa", 12, "3"),
    ];
    for (name, kind, want) in cases {
        assert_eq!(asker.ask(name, kind), want, "{name} {kind}");
    }
    let reported: Vec<String> = gate
        .desk
        .events()
        .into_iter()
        .map(|event| match event {
            zonekeep_network::Event::Refused { to, reason: Reason::NotAllowed, .. } => to,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(reported, ["c.test", "d.test", "evil.test", "aa.test"], "each once");
}

#[test]
fn the_host_has_a_name_only_where_a_port_of_it_is_listed() {
    let gate = allow(["a.test"]).open();
    let asker = Asker::new(&gate);
    assert_eq!(asker.ask("host.zonekeep", A), "3");
    assert_eq!(asker.ask("localhost", A), "127.0.0.1");
}

#[test]
fn questions_may_come_in_a_connection() {
    let gate = allow(["a.test"]).open();
    let mut stream = connect(gate.at[&("127.0.0.1:53".parse().unwrap(), false)]);
    for (name, want) in [("a.test", "198.18.0.2"), ("b.test", "3"), ("a.test", "198.18.0.2")] {
        let question = question(name, A);
        let mut framed = u16::try_from(question.len()).unwrap().to_be_bytes().to_vec();
        framed.extend(question);
        for part in framed.chunks(7) {
            stream.write_all(part).unwrap();
        }
        let mut length = [0; 2];
        stream.read_exact(&mut length).unwrap();
        let mut answer = vec![0; usize::from(u16::from_be_bytes(length))];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(read(&answer), want, "{name}");
    }
}

#[test]
fn a_connection_that_makes_no_sense_is_closed() {
    let gate = allow(["a.test"]).open();
    let mut stream = connect(gate.at[&("127.0.0.1:53".parse().unwrap(), false)]);
    // A message of no length; whatever follows must not be kept.
    let _ = stream.write_all(&[0, 0]);
    let _ = stream.write_all(&[1; 100_000]);
    assert_eq!(read_all(&mut stream), "");
}

#[test]
fn refused_names_are_counted_even_when_they_are_too_many_to_name() {
    let gate = allow(["a.test"]).open();
    let asker = Asker::new(&gate);
    for n in 0..1007 {
        assert_eq!(asker.ask(&format!("n{n}.evil.test"), A), "3");
    }
    let desk = gate.desk.clone();
    drop(gate);
    assert_eq!(desk.refusals(), 1001);
    let last = desk.events().pop().unwrap();
    let zonekeep_network::Event::Refused { detail, .. } = last else { panic!("{last:?}") };
    assert!(detail.starts_with("7 more questions"), "{detail}");
}

#[test]
fn what_is_no_question_disturbs_nobody() {
    let gate = allow(["a.test"]).open();
    let asker = Asker::new(&gate);
    let mut answer = question("a.test", A);
    answer[2] |= 0x80;
    for junk in [&b""[..], b"x", &[0xff; 600], &answer] {
        asker.socket.send_to(junk, asker.at).unwrap();
    }
    let mut stream = connect(gate.at[&("127.0.0.1:53".parse().unwrap(), false)]);
    stream.write_all(&[0, 3, 1, 2, 3]).unwrap();
    asker.socket.set_nonblocking(false).unwrap();
    // What is answered at all is answered with an error.
    let mut buffer = [0; 1500];
    asker.socket.send_to(&question("a.test", A), asker.at).unwrap();
    loop {
        let count = asker.socket.recv(&mut buffer).unwrap();
        if buffer[..2] == [0xab, 0xcd] {
            assert_eq!(read(&buffer[..count]), "198.18.0.2");
            break;
        }
        assert_ne!(buffer[3] & 15, 0);
    }
}
