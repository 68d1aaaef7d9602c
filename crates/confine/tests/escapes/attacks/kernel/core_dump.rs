//! Asks whether it may leave core dumps: those would go to a program that the
//! host has set, which runs as root there.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/core_dump",
    what: "may leave core dumps",
    attempt: |_| {
        let mut limit = [0_u64; 2];
        let asked =
            call(libc::SYS_prlimit64, &[0, libc::RLIMIT_CORE as usize, 0, sys::at_mut(&mut limit)]);
        Outcome::when("may leave core dumps", asked.is_ok() && limit[1] > 0)
    },
    control: Control::Depends("core dumps are off for whoever runs the tests"),
    ..BASE
};
