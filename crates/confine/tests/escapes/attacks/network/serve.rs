//! Listens on a port of the host and waits for somebody of the host to connect.

use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Instant;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/serve",
    what: "serves the host on a port",
    setup: |scene| {
        let port = scene.free_port();
        thread::spawn(move || {
            let start = Instant::now();
            while start.elapsed() < Duration::from_secs(5)
                && TcpStream::connect(("127.0.0.1", port)).is_err()
            {
                thread::sleep(Duration::from_millis(20));
            }
        });
    },
    attempt: |t| {
        let Ok(listener) = TcpListener::bind(("0.0.0.0", t.free_port)) else {
            return Outcome::Held("cannot listen".into());
        };
        listener.set_nonblocking(true).unwrap();
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(1) {
            if listener.accept().is_ok() {
                return Outcome::Broke("somebody of the host came".into());
            }
            thread::sleep(Duration::from_millis(10));
        }
        Outcome::Held("nobody came".into())
    },
    ..BASE
};
