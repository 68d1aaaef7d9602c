//! Opens the memory of every other process that was there before: the launcher
//! and the first process inside are closed, because they may lack the filter.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "system/launcher_memory",
    what: "opens the launcher's memory",
    attempt: |t| {
        Outcome::any(t.others().into_iter().map(|pid| {
            let path = format!("/proc/{pid}/mem");
            Outcome::of("opened another process's memory", sys::open(path, libc::O_RDWR, 0))
        }))
    },
    ..BASE
};
