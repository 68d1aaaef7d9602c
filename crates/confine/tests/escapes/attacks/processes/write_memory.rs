//! Writes to the memory of a process outside: the same bytes as are there.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/write_memory",
    what: "writes to a process's memory",
    attempt: |t| {
        let local = [sys::at(SECRET), SECRET.len()];
        let remote = [t.victim_address, SECRET.len()];
        Outcome::of(
            "wrote to its memory",
            call(
                libc::SYS_process_vm_writev,
                &[t.victim as usize, sys::at(&local), 1, sys::at(&remote), 1, 0],
            ),
        )
    },
    ..BASE
};
