//! Sends a datagram to a socket of the host that has no file.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "ipc/abstract_send",
    what: "sends to an abstract socket",
    attempt: |t| {
        let address = SocketAddr::from_abstract_name(format!("{}-datagram", t.token)).unwrap();
        Outcome::of(
            "sent",
            UnixDatagram::unbound().and_then(|socket| socket.send_to_addr(b"!", &address)),
        )
    },
    ..BASE
};
