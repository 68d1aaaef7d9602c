//! Connects to a listener on the host's loopback: the command's loopback is its
//! own.

use std::net::TcpStream;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/tcp_connect",
    what: "connects to the host's loopback",
    attempt: |t| Outcome::of("connected", TcpStream::connect(("127.0.0.1", t.tcp))),
    ..BASE
};
