//! Takes the processor for itself, before everybody else on the machine.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/realtime",
    what: "takes the processor for itself",
    attempt: |_| {
        let priority = 1_i32;
        Outcome::any([
            Outcome::of(
                "runs in real time",
                sys::in_child(|| {
                    call(libc::SYS_sched_setscheduler, &[0, 1, sys::at(&priority)]).map(|_| ())
                }),
            ),
            Outcome::of(
                "is more important",
                sys::in_child(|| {
                    call(libc::SYS_setpriority, &[0, 0, -5_isize as usize]).map(|_| ())
                }),
            ),
            Outcome::of(
                "locks all memory",
                sys::in_child(|| {
                    let all = [u64::MAX; 2];
                    call(libc::SYS_prlimit64, &[0, libc::RLIMIT_MEMLOCK as usize, sys::at(&all), 0])
                        .map(|_| ())
                }),
            ),
        ])
    },
    control: Control::NeedsRoot("only root may"),
    ..BASE
};
