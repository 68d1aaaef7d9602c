//! Makes a second name outside for a file of the writable zone.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/hard_link_out",
    what: "puts a file out by a hard link",
    attempt: |t| {
        Outcome::of(
            "made a name outside",
            fs::hard_link(t.rw.join("file.txt"), t.outside().join("planted")),
        )
    },
    ..BASE
};
