//! Calls `clone3` without any request: it must look as if the kernel had no such
//! call, so that libraries take the older one.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "mounts/clone3_reached",
    what: "calls clone3 for nothing",
    attempt: |_| Outcome::refused("clone3", call(libc::SYS_clone3, &[0, 0])),
    ..BASE
};
