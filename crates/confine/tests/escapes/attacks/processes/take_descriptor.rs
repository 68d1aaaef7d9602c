//! Takes the open secret file from a process outside.

use std::io::Read;
use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/take_descriptor",
    what: "takes a descriptor from a process",
    attempt: |t| {
        let taken =
            call(libc::SYS_pidfd_open, &[t.victim as usize, 0]).map(sys::owned).and_then(|fd| {
                call(libc::SYS_pidfd_getfd, &[fd.as_raw_fd() as usize, t.victim_fd as usize, 0])
                    .map(sys::owned)
            });
        let read = taken.and_then(|fd| {
            let mut bytes = Vec::new();
            fs::File::from(fd).read_to_end(&mut bytes).map(|_| bytes)
        });
        Outcome::when("read the secret", Target::is_secret(&read))
    },
    ..BASE
};
