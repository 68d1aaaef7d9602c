//! Makes a ring of requests, which carries other calls past the filter.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/io_uring",
    what: "makes a ring of requests",
    attempt: |_| {
        let mut parameters = [0_u8; 120];
        Outcome::refused(
            "io_uring_setup",
            call(libc::SYS_io_uring_setup, &[1, sys::at_mut(&mut parameters)]),
        )
    },
    control: Control::Depends("rings are switched off here"),
    ..BASE
};
