//! Sends a datagram to the host's loopback.

use std::net::UdpSocket;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/udp_send",
    what: "sends a datagram to the host",
    attempt: |t| {
        let _ = UdpSocket::bind("127.0.0.1:0")
            .and_then(|socket| socket.send_to(b"!", ("127.0.0.1", t.udp)));
        Outcome::Tried
    },
    held_by: OWN_TREE,
    ..BASE
};
