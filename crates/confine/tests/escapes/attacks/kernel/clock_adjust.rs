//! Asks how the clock is adjusted, by the calls that also adjust it.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/clock_adjust",
    what: "adjusts the clock",
    attempt: |_| {
        let mut state = [0_u64; 32];
        Outcome::any([
            Outcome::refused("adjtimex", call(libc::SYS_adjtimex, &[sys::at_mut(&mut state)])),
            Outcome::refused(
                "clock_adjtime",
                call(libc::SYS_clock_adjtime, &[0, sys::at_mut(&mut state)]),
            ),
        ])
    },
    ..BASE
};
