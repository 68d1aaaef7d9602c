//! Sets limits of a process outside.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/limits",
    what: "sets limits of a process outside",
    attempt: |t| {
        let core = libc::RLIMIT_CORE as usize;
        let mut limit = [0_u64; 2];
        let _ = call(libc::SYS_prlimit64, &[t.victim as usize, core, 0, sys::at_mut(&mut limit)]);
        Outcome::of(
            "set its limits",
            call(libc::SYS_prlimit64, &[t.victim as usize, core, sys::at(&limit), 0]),
        )
    },
    ..BASE
};
