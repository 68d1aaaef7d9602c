//! Connects a datagram socket to the host's loopback and writes to it.

use std::net::UdpSocket;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/udp_connect",
    what: "writes to a connected datagram socket",
    attempt: |t| {
        let _ = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
            socket.connect(("127.0.0.1", t.udp))?;
            socket.send(b"!")
        });
        Outcome::Tried
    },
    held_by: OWN_TREE,
    ..BASE
};
