//! Sends datagrams to the host's loopback by `sendmsg` and `sendmmsg`.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/udp_sendmsg",
    what: "sends datagrams by other calls",
    attempt: |t| {
        if let Ok(socket) = sys::socket(2, libc::SOCK_DGRAM, 0) {
            let _ = crate::attacks::ipc::send_both_ways(socket.as_raw_fd(), &super::ipv4(t.udp));
        }
        Outcome::Tried
    },
    held_by: OWN_TREE,
    ..BASE
};
