//! Pages out the memory of a process outside, moves it, and asks where it is.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/advise",
    what: "steers a process's memory",
    attempt: |t| {
        let range = [t.victim_address & !4095, 4096_usize];
        let fd = call(libc::SYS_pidfd_open, &[t.victim as usize, 0]).map(sys::owned);
        let cold = fd.and_then(|fd| {
            call(
                libc::SYS_process_madvise,
                &[fd.as_raw_fd() as usize, sys::at(&range), 1, libc::MADV_COLD as usize, 0],
            )
        });
        let (page, mut status) = ([range[0]], [0_i32]);
        let moved = call(
            libc::SYS_move_pages,
            &[t.victim as usize, 1, sys::at(&page), 0, sys::at_mut(&mut status), 0],
        );
        Outcome::any([Outcome::of("advised", cold), Outcome::of("asked for its pages", moved)])
    },
    control: Control::Depends("the kernel does not have the calls"),
    ..BASE
};
