//! Reads from the host's POSIX message queue.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "ipc/posix_queue",
    what: "reads the host's POSIX message queue",
    attempt: |t| {
        let name = text(&t.token);
        let mut message = vec![0_u8; 64 << 10];
        let read = call(libc::SYS_mq_open, &[name.at(), libc::O_RDONLY as usize, 0, 0])
            .map(sys::owned)
            .and_then(|queue| {
                call(
                    libc::SYS_mq_timedreceive,
                    &[queue.as_raw_fd() as usize, sys::at_mut(&mut message[..]), 64 << 10, 0, 0],
                )
            });
        Outcome::when("read the secret", Target::is_secret(&read.map(|_| message)))
    },
    control: Control::Depends("the kernel has no such queues"),
    held_by: OWN_TREE,
    ..BASE
};
