//! Makes a nameless file with the bit and gives it a name.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "setid/tmpfile",
    what: "names a nameless file with the bit",
    attempt: |t| {
        let made = sys::open(&t.rw, libc::O_TMPFILE | libc::O_RDWR, 0o4755).and_then(|file| {
            let (from, to) =
                (text(format!("/proc/self/fd/{}", file.as_raw_fd())), text(t.rw.join("new")));
            call(
                libc::SYS_linkat,
                &[sys::HERE, from.at(), sys::HERE, to.at(), libc::AT_SYMLINK_FOLLOW as usize],
            )
        });
        Outcome::of("named it", made)
    },
    control: Control::Depends("the file system has no nameless files"),
    check: super::no_bits,
    ..BASE
};
