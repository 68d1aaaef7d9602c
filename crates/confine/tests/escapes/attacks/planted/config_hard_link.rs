//! Puts a second name of its own file in place of the settings, and writes to the
//! first later.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/config_hard_link",
    what: "links its own file in place of settings",
    setup: |scene| scene.repository(""),
    attempt: |t| {
        let _ = fs::write(t.rw.join("innocent"), "");
        let _ = fs::remove_file(t.rw.join(".git/config"));
        let _ = fs::hard_link(t.rw.join("innocent"), t.rw.join(".git/config"));
        let _ = fs::write(t.rw.join("innocent"), format!("[core]\n\tpager = {MARK}\n"));
        Outcome::Tried
    },
    check: |scene| scene.not_planted(&[".git/config"]),
    held_by: OWN_TREE,
    ..BASE
};
