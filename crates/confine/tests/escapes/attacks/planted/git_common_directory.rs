//! Names another directory as the one that holds settings and hooks.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/git_common_directory",
    what: "names another common directory",
    setup: |scene| scene.repository(""),
    attempt: |t| {
        super::craft(t, MARK);
        let _ = fs::write(t.rw.join(".git/commondir"), format!("../{MARK}\n"));
        Outcome::Tried
    },
    check: |scene| scene.not_planted(&[".git/commondir"]),
    ..BASE
};
