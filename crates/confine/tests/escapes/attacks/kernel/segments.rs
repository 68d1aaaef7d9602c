//! Reads the table of its segments, an old source of holes.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/segments",
    what: "reads its table of segments",
    attempt: |_| {
        let mut table = [0_u8; 16];
        Outcome::refused(
            "modify_ldt",
            call(libc::SYS_modify_ldt, &[0, sys::at_mut(&mut table), 16]),
        )
    },
    control: Control::Depends("the kernel has no such tables"),
    ..BASE
};
