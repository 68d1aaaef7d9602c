//! Writes over the secret and makes a file beside it: nothing outside changes.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/write_absolute",
    what: "writes outside by host paths",
    attempt: |t| {
        Outcome::any([
            Outcome::of("made a file outside", fs::write(t.outside().join("planted"), MARK)),
            Outcome::of("opened the secret for writing", sys::open_for_writing(t.secret())),
        ])
    },
    ..BASE
};
