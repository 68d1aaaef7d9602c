//! Asks whether it could signal the process that started the sandbox; the signal
//! is the empty one.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/signal_caller",
    what: "could signal the caller",
    attempt: |t| {
        Outcome::any([
            Outcome::of("can signal the caller", call(libc::SYS_kill, &[t.caller as usize, 0])),
            Outcome::of(
                "can signal the other process",
                call(libc::SYS_kill, &[t.victim as usize, 0]),
            ),
        ])
    },
    ..BASE
};
