//! Renames the directory above a repository away and puts its own in place, with
//! another repository in it.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/git_parent_swap",
    what: "swaps the directory above a repository",
    setup: |scene| scene.repository("project"),
    attempt: |t| {
        super::craft(t, "innocent/x");
        let _ = fs::rename(t.rw.join("innocent/x"), t.rw.join("innocent/.git"));
        let _ = fs::rename(t.rw.join("project"), t.rw.join("away"));
        let _ = fs::rename(t.rw.join("innocent"), t.rw.join("project"));
        Outcome::Tried
    },
    check: |scene| scene.not_planted(&["project/.git/config"]),
    ..BASE
};
