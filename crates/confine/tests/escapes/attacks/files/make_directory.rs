//! Makes directories and links outside, which need no file to be opened.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/make_directory",
    what: "makes a directory and a link outside",
    attempt: |t| {
        Outcome::any([
            Outcome::of("made a directory", fs::create_dir(t.outside().join("planted"))),
            Outcome::of(
                "made a link",
                std::os::unix::fs::symlink("/", t.outside().join("planted-link")),
            ),
        ])
    },
    ..BASE
};
