//! Opens the trigger of emergency actions for writing; nothing is written.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "system/sysrq",
    what: "opens the trigger of emergency actions",
    attempt: |_| {
        Outcome::of("may trigger emergency actions", sys::open_for_writing("/proc/sysrq-trigger"))
    },
    control: Control::Depends("the kernel has no such trigger, or only root may"),
    ..BASE
};
