//! Writes through a link in the writable zone: no file appears at its end.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/write_link",
    what: "writes through a link that leads outside",
    attempt: |t| {
        let link = t.rw.join("link");
        let _ = std::os::unix::fs::symlink(t.outside().join("planted"), &link);
        Outcome::of("wrote through the link", fs::write(&link, MARK))
    },
    ..BASE
};
