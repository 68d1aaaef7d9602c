//! Uses the calls that event loops are made of: poll, timers, notices of files,
//! locks.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "work/waiting",
    what: "uses what event loops need",
    attempt: |t| {
        Outcome::ordinary(
            "event loops",
            (|| -> io::Result<()> {
                call(libc::SYS_epoll_create1, &[0]).map(sys::owned)?;
                call(libc::SYS_eventfd2, &[0, 0]).map(sys::owned)?;
                call(libc::SYS_timerfd_create, &[1, 0]).map(sys::owned)?;
                call(libc::SYS_inotify_init1, &[0]).map(sys::owned)?;
                let file = fs::File::create(t.rw.join("lock"))?;
                call(libc::SYS_flock, &[file.as_raw_fd() as usize, libc::LOCK_EX as usize])?;
                file.set_len(4096)?;
                call(libc::SYS_getrandom, &[sys::at_mut(&mut [0_u8; 8]), 8, 0]).map(|_| ())
            })(),
        )
    },
    ..BASE
};
