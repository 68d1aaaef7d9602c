//! Makes a process outside less important.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/renice",
    what: "lowers a process's priority",
    attempt: |t| {
        Outcome::of("lowered its priority", call(libc::SYS_setpriority, &[0, t.victim as usize, 5]))
    },
    held_by: OWN_TREE,
    ..BASE
};
