//! Many connections and many bytes.

#![allow(clippy::unwrap_used)]

mod common;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use common::*;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// Lets the test hold as many files as it may.
fn many_files() -> u64 {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    maximum.unwrap_or(u64::MAX)
}

fn open_files() -> usize {
    std::fs::read_dir("/dev/fd").unwrap().count()
}

/// A server that echoes, on one thread for all, without much ado.
fn echo_server() -> SocketAddr {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let work = async move {
            listener.set_nonblocking(true).unwrap();
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            loop {
                let Ok((mut stream, _)) = listener.accept().await else { continue };
                tokio::spawn(async move {
                    let (mut from, mut to) = stream.split();
                    let _ = tokio::io::copy(&mut from, &mut to).await;
                });
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(work)
    });
    at
}

fn round_trip(stream: &mut TcpStream) {
    stream.write_all(b"\x01ping").unwrap();
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"\x01ping");
}

#[test]
fn a_thousand_connections_at_a_time() {
    let count = if many_files() < 5000 { 200 } else { 1000 };
    let server = echo_server();
    let gate = allow([format!("localhost:{}", server.port())]).open();
    let before = open_files();
    let mut streams: Vec<TcpStream> = (0..count).map(|_| gate.local(server.port())).collect();
    for _ in 0..2 {
        streams.iter_mut().for_each(round_trip);
    }
    drop(streams);
    gate.gate.settle(SOON);
    assert_eq!(gate.account.used().connections, count);
    few_more_files_than(before);
}

#[test]
fn one_connection_after_the_other_leaves_nothing_behind() {
    let server = echo_server();
    let gate = allow([format!("localhost:{}", server.port())]).open();
    round_trip(&mut gate.local(server.port()));
    gate.gate.settle(SOON);
    let before = open_files();
    for _ in 0..2000 {
        round_trip(&mut gate.local(server.port()));
    }
    gate.gate.settle(SOON);
    few_more_files_than(before);
    assert_eq!(gate.account.used().connections, 2001);
}

/// Other tests run beside these, so a few files come and go.
fn few_more_files_than(before: usize) {
    let end = Instant::now() + SOON;
    while open_files() > before + 100 {
        assert!(Instant::now() < end, "{before} files became {}", open_files());
        std::thread::sleep(Duration::from_millis(20));
    }
}
