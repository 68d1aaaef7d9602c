//! Sends a datagram to a socket of the host by its path.

use std::os::unix::net::UnixDatagram;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "ipc/path_send",
    what: "sends to a socket outside",
    attempt: |t| {
        Outcome::of(
            "sent",
            UnixDatagram::unbound()
                .and_then(|socket| socket.send_to(b"!", t.outside().join("datagram.sock"))),
        )
    },
    held_by: OWN_TREE,
    ..BASE
};
