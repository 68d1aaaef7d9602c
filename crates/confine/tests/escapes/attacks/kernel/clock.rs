//! Sets the clock to a time that does not exist: refused before it is looked at.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/clock",
    what: "sets the clock",
    attempt: |_| {
        let never = [0_i64, 2_000_000_000];
        Outcome::any([
            Outcome::refused("clock_settime", call(libc::SYS_clock_settime, &[0, sys::at(&never)])),
            Outcome::refused("settimeofday", call(libc::SYS_settimeofday, &[sys::at(&never), 0])),
        ])
    },
    ..BASE
};
