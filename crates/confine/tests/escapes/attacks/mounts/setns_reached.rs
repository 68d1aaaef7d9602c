//! Calls `setns` for a descriptor that is no namespace.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "mounts/setns_reached",
    what: "calls setns for nothing",
    attempt: |_| Outcome::refused("setns", call(libc::SYS_setns, &[0, 0])),
    ..BASE
};
