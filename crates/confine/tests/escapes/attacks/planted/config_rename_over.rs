//! Renames settings of its own over those of a repository, as git itself does.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/config_rename_over",
    what: "renames over a repository's settings",
    setup: |scene| scene.repository(""),
    attempt: |t| {
        let _ = fs::write(t.rw.join("innocent"), format!("[core]\n\tsshCommand = {MARK}\n"));
        let _ = fs::rename(t.rw.join("innocent"), t.rw.join(".git/config"));
        Outcome::Tried
    },
    check: |scene| scene.not_planted(&[".git/config"]),
    ..BASE
};
