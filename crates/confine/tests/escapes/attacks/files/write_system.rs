//! Makes nameless files in the system's directories, which root could: where that
//! works, programs that others run could be changed. Nothing stays.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/write_system",
    what: "writes to the system's directories",
    attempt: |t| {
        // A tree of its own may have an /etc of its own.
        let dirs = ["/usr", "/usr/bin", "/usr/lib", "/usr/local/bin"];
        let dirs = dirs.into_iter().chain((!t.own_tree).then_some("/etc"));
        Outcome::any(
            dirs.map(|dir| {
                Outcome::of(dir, sys::open(dir, libc::O_TMPFILE | libc::O_WRONLY, 0o600))
            }),
        )
    },
    control: Control::Depends("only root writes there, where the file system has nameless files"),
    ..BASE
};
