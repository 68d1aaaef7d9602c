//! Raises limits above what it was given.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/raise_limits",
    what: "raises its own limits",
    attempt: |_| {
        Outcome::any(
            [libc::RLIMIT_NOFILE, libc::RLIMIT_NPROC, libc::RLIMIT_AS, libc::RLIMIT_MEMLOCK].map(
                |which| {
                    let mut limit = [0_u64; 2];
                    let _ =
                        call(libc::SYS_prlimit64, &[0, which as usize, 0, sys::at_mut(&mut limit)]);
                    if limit[1] == u64::MAX {
                        return Outcome::Held("there is no limit".into());
                    }
                    limit[1] += 1;
                    Outcome::of(
                        "raised a limit",
                        sys::in_child(|| {
                            call(libc::SYS_prlimit64, &[0, which as usize, sys::at(&limit), 0])
                                .map(|_| ())
                        }),
                    )
                },
            ),
        )
    },
    control: Control::Depends("only root with all capabilities may"),
    ..BASE
};
