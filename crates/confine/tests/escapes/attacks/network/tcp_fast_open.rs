//! Sends with the request to connect on the way, which is no `connect`.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/tcp_fast_open",
    what: "connects by sending",
    attempt: |t| {
        let (socket, address) = (sys::socket(2, libc::SOCK_STREAM, 0), super::ipv4(t.tcp));
        Outcome::of(
            "connected",
            socket.and_then(|socket| {
                let args = [
                    socket.as_raw_fd() as usize,
                    sys::at(b"!"),
                    1,
                    libc::MSG_FASTOPEN as usize,
                    sys::at(&address),
                    16,
                ];
                call(libc::SYS_sendto, &args)
            }),
        )
    },
    control: Control::Depends("the kernel does not do that"),
    held_by: OWN_TREE,
    ..BASE
};
