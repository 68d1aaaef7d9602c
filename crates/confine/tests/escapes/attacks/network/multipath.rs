//! Connects by multipath TCP, which rules about TCP do not see.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/multipath",
    what: "connects by multipath TCP",
    attempt: |t| {
        let (socket, address) = (sys::socket(2, libc::SOCK_STREAM, 262), super::ipv4(t.tcp));
        Outcome::of(
            "connected",
            socket.and_then(|socket| {
                call(libc::SYS_connect, &[socket.as_raw_fd() as usize, sys::at(&address), 16])
            }),
        )
    },
    control: Control::Depends("the kernel has no multipath TCP"),
    ..BASE
};
