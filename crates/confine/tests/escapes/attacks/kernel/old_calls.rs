//! Makes calls that nobody has needed for long.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/old_calls",
    what: "makes old calls",
    attempt: |_| {
        let mut buffer = [0_u8; 64];
        Outcome::any([
            Outcome::refused("sysfs", call(139, &[3, 0, 0])),
            Outcome::refused("ustat", call(136, &[0, sys::at_mut(&mut buffer)])),
            Outcome::refused("uselib", call(134, &[0])),
            Outcome::refused("_sysctl", call(156, &[0])),
            Outcome::refused("lookup_dcookie", call(212, &[0, 0, 0])),
        ])
    },
    control: Control::Depends("the kernel has none of them any more"),
    ..BASE
};
