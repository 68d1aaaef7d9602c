//! Sends to the host's abstract socket by `sendmsg` and `sendmmsg`, which a rule
//! about `connect` does not see.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "ipc/abstract_sendmsg",
    what: "sends by other calls",
    attempt: |t| {
        let name = format!("\0{}-datagram", t.token);
        let mut address = 1_u16.to_ne_bytes().to_vec();
        address.extend(name.as_bytes());
        let socket = sys::socket(1, libc::SOCK_DGRAM, 0).unwrap();
        super::send_both_ways(socket.as_raw_fd(), &address)
    },
    ..BASE
};
