//! Makes `.git` a file that names a repository that it made elsewhere.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/git_file",
    what: "makes .git a file",
    attempt: |t| {
        super::craft(t, MARK);
        let _ = fs::write(t.rw.join(".git"), format!("gitdir: {MARK}\n"));
        Outcome::Tried
    },
    check: |scene| scene.not_planted(&[".git"]),
    ..BASE
};
