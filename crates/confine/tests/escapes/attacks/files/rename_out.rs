//! Renames a file of the writable zone to a name outside.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/rename_out",
    what: "moves a file out",
    attempt: |t| {
        Outcome::of(
            "moved a file out",
            fs::rename(t.rw.join("file.txt"), t.outside().join("planted")),
        )
    },
    ..BASE
};
