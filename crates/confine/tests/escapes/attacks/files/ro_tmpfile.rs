//! Makes a file without a name in the read-only zone and links it in.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/ro_tmpfile",
    what: "links a nameless file into a read-only zone",
    attempt: |t| {
        let made = sys::open(&t.ro, libc::O_TMPFILE | libc::O_RDWR, 0o600).and_then(|file| {
            let (from, to) =
                (text(format!("/proc/self/fd/{}", file.as_raw_fd())), text(t.ro.join("new")));
            call(
                libc::SYS_linkat,
                &[sys::HERE, from.at(), sys::HERE, to.at(), libc::AT_SYMLINK_FOLLOW as usize],
            )
        });
        Outcome::of("linked a new file in", made)
    },
    ..BASE
};
