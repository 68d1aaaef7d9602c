//! Asks for the list of locks of a process outside, an address in its memory.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/robust_list",
    what: "asks for a process's list of locks",
    attempt: |t| {
        let (mut head, mut length) = (0_usize, 0_usize);
        Outcome::of(
            "got an address",
            call(
                libc::SYS_get_robust_list,
                &[t.victim as usize, sys::at_mut(&mut head), sys::at_mut(&mut length)],
            ),
        )
    },
    held_by: OWN_TREE,
    ..BASE
};
