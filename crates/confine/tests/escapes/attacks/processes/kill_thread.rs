//! Ends a process outside through its first thread.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/kill_thread",
    what: "ends a process by its thread",
    attempt: |t| {
        let (pid, signal) = (t.victim as usize, libc::SIGUSR1 as usize);
        Outcome::any([
            Outcome::of("tgkill", call(libc::SYS_tgkill, &[pid, pid, signal])),
            Outcome::of("tkill", call(libc::SYS_tkill, &[pid, signal])),
        ])
    },
    ..BASE
};
