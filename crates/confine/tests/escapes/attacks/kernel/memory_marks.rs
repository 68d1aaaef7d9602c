//! Asks for the map of its own memory that an ordinary user may rewrite, too.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/memory_marks",
    what: "rewrites the map of its memory",
    attempt: |_| {
        const SET_MM: usize = 35;
        const MAP_SIZE: usize = 15;
        let mut size = 0_u32;
        let args = [SET_MM, MAP_SIZE, sys::at_mut(&mut size), 0, 0];
        Outcome::refused("the map's size", call(libc::SYS_prctl, &args))
    },
    control: Control::Depends("the kernel cannot restore processes"),
    ..BASE
};
