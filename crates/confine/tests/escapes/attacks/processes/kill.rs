//! Ends a process of the same user by its number: processes outside cannot be
//! signalled.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/kill",
    what: "ends a process outside",
    attempt: |t| {
        Outcome::of(
            "signalled it",
            call(libc::SYS_kill, &[t.victim as usize, libc::SIGUSR1 as usize]),
        )
    },
    ..BASE
};
