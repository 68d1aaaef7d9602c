//! Makes sockets with numbers whose upper half is not zero, which the kernel does
//! not look at and a comparison may.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/wide_arguments",
    what: "hides a socket's kind in wide arguments",
    attempt: |_| {
        const WIDE: usize = 1 << 32;
        let stream = libc::SOCK_STREAM as usize;
        Outcome::any(
            [
                [2, stream, WIDE | 262],
                [WIDE | 2, stream, 262],
                [WIDE | 40, stream, 0],
                [WIDE | 16, libc::SOCK_RAW as usize, 15],
                [16, libc::SOCK_RAW as usize, WIDE | 15],
                [WIDE | 1 << 63 | 38, libc::SOCK_SEQPACKET as usize, 0],
            ]
            .map(|args| Outcome::refused("a socket", call(libc::SYS_socket, &args))),
        )
    },
    ..BASE
};
