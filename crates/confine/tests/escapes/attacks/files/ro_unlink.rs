//! Removes the file of the read-only zone.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/ro_unlink",
    what: "removes a read-only file",
    attempt: |t| Outcome::of("removed it", fs::remove_file(t.ro_file())),
    ..BASE
};
