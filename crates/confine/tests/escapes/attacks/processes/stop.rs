//! Stops a process outside without ending it.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/stop",
    what: "stops a process outside",
    attempt: |t| {
        Outcome::of(
            "stopped it",
            call(libc::SYS_kill, &[t.victim as usize, libc::SIGSTOP as usize]),
        )
    },
    ..BASE
};
