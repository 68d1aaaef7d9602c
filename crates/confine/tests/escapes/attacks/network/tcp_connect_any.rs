//! Connects to the host's listener by other names of the loopback: zero, another
//! address of the range, an IPv4 address in IPv6.

use std::net::TcpStream;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/tcp_connect_any",
    what: "connects by other names of the loopback",
    attempt: |t| {
        Outcome::any(
            ["0.0.0.0", "127.0.0.1", "::ffff:127.0.0.1"]
                .map(|host| Outcome::of(host, TcpStream::connect((host, t.tcp)))),
        )
    },
    ..BASE
};
