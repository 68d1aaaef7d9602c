//! Uses the other two calls of rings, on a descriptor that is none.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/io_uring_rest",
    what: "uses a ring of requests",
    attempt: |_| {
        Outcome::any([
            Outcome::refused("io_uring_enter", call(libc::SYS_io_uring_enter, &[0, 0, 0, 0, 0, 0])),
            Outcome::refused("io_uring_register", call(libc::SYS_io_uring_register, &[0, 0, 0, 0])),
        ])
    },
    control: Control::Depends("the kernel has no rings"),
    ..BASE
};
