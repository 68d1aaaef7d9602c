//! Opens the file of the read-only zone for writing, in every way there is.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/ro_write",
    what: "opens a read-only file for writing",
    attempt: |t| {
        Outcome::any(
            [
                libc::O_WRONLY,
                libc::O_RDWR,
                libc::O_WRONLY | libc::O_APPEND,
                libc::O_RDONLY | libc::O_TRUNC,
            ]
            .map(|flags| Outcome::of("opened it for writing", sys::open(t.ro_file(), flags, 0))),
        )
    },
    ..BASE
};
