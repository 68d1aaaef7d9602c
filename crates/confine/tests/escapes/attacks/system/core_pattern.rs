//! Opens the name of the program that gets core dumps for writing: that program
//! runs as root on the host. Nothing is written.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "system/core_pattern",
    what: "opens core_pattern for writing",
    attempt: |_| {
        Outcome::of(
            "may set the core dump program",
            sys::open_for_writing("/proc/sys/kernel/core_pattern"),
        )
    },
    control: Control::NeedsRoot("only root may"),
    ..BASE
};
