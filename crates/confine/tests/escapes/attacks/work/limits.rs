//! Lowers its own limits and asks for them, as shells and build tools do.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "work/limits",
    what: "lowers its own limits",
    attempt: |_| {
        Outcome::ordinary(
            "own limits",
            (|| -> io::Result<()> {
                let mut limit = [0_u64; 2];
                call(
                    libc::SYS_prlimit64,
                    &[0, libc::RLIMIT_CORE as usize, 0, sys::at_mut(&mut limit)],
                )?;
                limit[0] = 0;
                call(libc::SYS_prlimit64, &[0, libc::RLIMIT_CORE as usize, sys::at(&limit), 0])?;
                call(libc::SYS_setpriority, &[0, 0, 19]).map(|_| ())
            })(),
        )
    },
    ..BASE
};
