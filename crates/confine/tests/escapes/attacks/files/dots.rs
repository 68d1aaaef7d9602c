//! Climbs out of the writable zone with `..`: the way up ends at the tree.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/dots",
    what: "climbs out of a zone by dots",
    attempt: |t| {
        Outcome::when(
            "read the secret",
            [
                t.rw.join("../outside/secret.txt"),
                "../outside/secret.txt".into(),
                t.rw.join("../../../../../..").join(t.secret().strip_prefix("/").unwrap()),
            ]
            .iter()
            .any(|path| Target::is_secret(&fs::read(path))),
        )
    },
    ..BASE
};
