//! Makes `.git` a link to a repository that it made elsewhere.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/git_link",
    what: "makes .git a link",
    attempt: |t| {
        super::craft(t, "innocent");
        let _ = std::os::unix::fs::symlink("innocent", t.rw.join(".git"));
        Outcome::Tried
    },
    check: |scene| scene.not_planted(&[".git/config"]),
    ..BASE
};
