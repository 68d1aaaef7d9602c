//! Gets a descriptor of a process outside and signals through it.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/kill_descriptor",
    what: "signals through a process descriptor",
    attempt: |t| {
        let sent =
            call(libc::SYS_pidfd_open, &[t.victim as usize, 0]).map(sys::owned).and_then(|fd| {
                call(
                    libc::SYS_pidfd_send_signal,
                    &[fd.as_raw_fd() as usize, libc::SIGUSR1 as usize, 0, 0],
                )
            });
        Outcome::of("signalled it", sent)
    },
    ..BASE
};
