//! Makes a directory that git takes for a repository although it has another
//! name.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/git_bare",
    what: "makes a repository without .git",
    attempt: |t| {
        super::craft(t, "innocent");
        Outcome::Tried
    },
    check: |scene| scene.not_planted(&["innocent/config"]),
    ..BASE
};
