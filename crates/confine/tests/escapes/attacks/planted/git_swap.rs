//! Renames `.git` away and puts another in its place.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/git_swap",
    what: "swaps the repository for another",
    setup: |scene| scene.repository(""),
    attempt: |t| {
        super::craft(t, "innocent");
        let _ = fs::rename(t.rw.join(".git"), t.rw.join("away"));
        let _ = fs::rename(t.rw.join("innocent"), t.rw.join(".git"));
        Outcome::Tried
    },
    check: |scene| scene.not_planted(&[".git/config"]),
    ..BASE
};
