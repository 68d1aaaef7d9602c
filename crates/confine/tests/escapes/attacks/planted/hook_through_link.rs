//! Writes the hook through a link to the repository's directory.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/hook_through_link",
    what: "leaves a hook through a link",
    setup: |scene| scene.repository(""),
    attempt: |t| {
        let _ = std::os::unix::fs::symlink(".git", t.rw.join("innocent"));
        super::plant(t, "innocent/hooks/pre-commit")
    },
    check: |scene| scene.not_planted(&[".git/hooks/pre-commit"]),
    ..BASE
};
