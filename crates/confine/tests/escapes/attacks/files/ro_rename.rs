//! Renames the file of the read-only zone, within it and into the other zone.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/ro_rename",
    what: "renames a read-only file",
    attempt: |t| {
        Outcome::any([
            Outcome::of("renamed it", fs::rename(t.ro_file(), t.ro.join("other.txt"))),
            Outcome::of("moved it", fs::rename(t.ro_file(), t.rw.join("other.txt"))),
        ])
    },
    ..BASE
};
