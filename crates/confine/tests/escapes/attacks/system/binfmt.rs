//! Opens the register of program formats for writing, by which the host would run
//! a program of its own for any other.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "system/binfmt",
    what: "registers a program format",
    attempt: |_| {
        Outcome::of(
            "may register a format",
            sys::open_for_writing("/proc/sys/fs/binfmt_misc/register"),
        )
    },
    control: Control::Depends("the register is not mounted here"),
    ..BASE
};
