//! Compares its own objects with themselves: the call is closed.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/compare_reached",
    what: "calls kcmp on itself",
    attempt: |_| {
        let own = std::process::id() as usize;
        Outcome::refused("kcmp", call(libc::SYS_kcmp, &[own, own, 0, 0, 1]))
    },
    control: Control::Depends("the kernel does not have the call"),
    ..BASE
};
