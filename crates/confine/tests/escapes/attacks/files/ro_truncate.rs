//! Cuts the file of the read-only zone short without opening it.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/ro_truncate",
    what: "truncates a read-only file",
    attempt: |t| {
        let path = text(t.ro_file());
        Outcome::of("truncated it", call(libc::SYS_truncate, &[path.at(), 1]))
    },
    ..BASE
};
