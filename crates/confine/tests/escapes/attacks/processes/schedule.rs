//! Changes how a process outside is scheduled and where it runs.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/schedule",
    what: "changes how a process is scheduled",
    attempt: |t| {
        let (pid, all, none) = (t.victim as usize, u64::MAX, 0_i32);
        Outcome::any([
            Outcome::of("moved it", call(libc::SYS_sched_setaffinity, &[pid, 8, sys::at(&all)])),
            Outcome::of(
                "scheduled it",
                call(libc::SYS_sched_setscheduler, &[pid, 0, sys::at(&none)]),
            ),
            Outcome::of("slowed its disk", call(libc::SYS_ioprio_set, &[1, pid, 3 << 13])),
        ])
    },
    held_by: OWN_TREE,
    ..BASE
};
