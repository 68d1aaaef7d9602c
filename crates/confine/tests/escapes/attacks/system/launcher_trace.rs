//! Traces every other process that was there before.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "system/launcher_trace",
    what: "traces the launcher",
    attempt: |t| {
        Outcome::any(t.others().into_iter().map(|pid| {
            const SEIZE: usize = 0x4206;
            Outcome::of(
                "traces another process",
                call(libc::SYS_ptrace, &[SEIZE, pid as usize, 0, 0]),
            )
        }))
    },
    ..BASE
};
