//! Makes a file system with `fsopen`, `fsconfig` and `fsmount`.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "mounts/fsopen",
    what: "makes a file system by the new calls",
    attempt: |t| {
        const CREATE: usize = 6;
        let kind = text("tmpfs");
        let context = sys::own_mounts(t.confined)
            .and_then(|()| call(libc::SYS_fsopen, &[kind.at(), 0]))
            .map(sys::owned);
        Outcome::of(
            "made a file system",
            context.and_then(|context| {
                let fd = context.as_raw_fd() as usize;
                call(libc::SYS_fsconfig, &[fd, CREATE, 0, 0, 0])?;
                call(libc::SYS_fsmount, &[fd, 0, 0]).map(sys::owned)
            }),
        )
    },
    ..BASE
};
