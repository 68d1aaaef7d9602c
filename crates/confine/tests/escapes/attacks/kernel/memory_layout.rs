//! Moves the marks of its own memory, by which a process disguises its program.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/memory_layout",
    what: "moves the marks of its memory",
    attempt: |_| {
        const SET_MM: usize = 35;
        const EXE_FILE: usize = 13;
        let program = fs::File::open("/bin/sh").map(|file| {
            call(
                libc::SYS_prctl,
                &[SET_MM, EXE_FILE, std::os::fd::AsRawFd::as_raw_fd(&file) as usize, 0, 0],
            )
        });
        Outcome::when("changed what its program seems to be", matches!(program, Ok(Ok(_))))
    },
    control: Control::Depends(
        "only root with all capabilities may, and not while its program is mapped",
    ),
    ..BASE
};
