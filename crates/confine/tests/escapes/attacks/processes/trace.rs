//! Traces a process outside.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/trace",
    what: "traces a process outside",
    attempt: |t| {
        const SEIZE: usize = 0x4206;
        Outcome::of("traces it", call(libc::SYS_ptrace, &[SEIZE, t.victim as usize, 0, 0]))
    },
    ..BASE
};
