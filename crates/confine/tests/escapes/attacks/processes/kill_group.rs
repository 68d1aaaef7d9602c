//! Ends the group that a process outside leads.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/kill_group",
    what: "ends a group outside",
    attempt: |t| {
        Outcome::of(
            "signalled it",
            call(libc::SYS_kill, &[-(t.victim as isize) as usize, libc::SIGUSR1 as usize]),
        )
    },
    ..BASE
};
