//! Sends a datagram in the host's network, by the socket that is its standard input.

use std::net::UdpSocket;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "stdio/socket_datagram",
    what: "sends a datagram by its standard input",
    given: |_| Given::input(UdpSocket::bind("127.0.0.1:0").unwrap()),
    attempt: |t| {
        let address = super::super::network::ipv4(t.udp);
        let args = [0, sys::at(b"!"), 1, 0, sys::at(&address), address.len()];
        let _ = call(libc::SYS_sendto, &args);
        Outcome::Tried
    },
    ..BASE
};
