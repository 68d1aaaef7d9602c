//! Makes pairs of sockets of other families than Unix.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/pairs",
    what: "makes pairs of unusual sockets",
    attempt: |_| {
        Outcome::any([2_usize, 10, 30, 16].map(|family| {
            let mut pair = [0_i32; 2];
            Outcome::refused(
                "a pair",
                call(
                    libc::SYS_socketpair,
                    &[family, libc::SOCK_STREAM as usize, 0, sys::at_mut(&mut pair)],
                ),
            )
        }))
    },
    ..BASE
};
