//! Asks about a process outside in ways that send nothing: not even that there is
//! such a process shows.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/exists",
    what: "asks whether a process outside is there",
    attempt: |t| {
        let pid = t.victim as usize;
        Outcome::any([
            Outcome::of("its session", call(libc::SYS_getsid, &[pid])),
            Outcome::of("its group", call(libc::SYS_getpgid, &[pid])),
            Outcome::of("its priority", call(libc::SYS_getpriority, &[0, pid])),
            Outcome::of("its descriptor", call(libc::SYS_pidfd_open, &[pid, 0])),
            Outcome::of("its scheduling", call(libc::SYS_sched_getscheduler, &[pid])),
        ])
    },
    held_by: OWN_TREE,
    ..BASE
};
