//! Changes the times of the read-only file.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/ro_utime",
    what: "changes a read-only file's times",
    attempt: |t| {
        let (path, times) = (text(t.ro_file()), [1_i64; 4]);
        Outcome::of(
            "set the times",
            call(libc::SYS_utimensat, &[sys::HERE, path.at(), sys::at(&times), 0]),
        )
    },
    held_by: OWN_TREE,
    ..BASE
};
