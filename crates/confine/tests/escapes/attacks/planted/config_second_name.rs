//! Makes a second, innocent name for the settings and writes through that.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/config_second_name",
    what: "writes to settings by another name",
    setup: |scene| scene.repository(""),
    attempt: |t| {
        if fs::hard_link(t.rw.join(".git/config"), t.rw.join("innocent")).is_ok() {
            let _ = fs::write(t.rw.join("innocent"), format!("[core]\n\teditor = {MARK}\n"));
        }
        Outcome::Tried
    },
    check: |scene| scene.not_planted(&[".git/config"]),
    held_by: OWN_TREE,
    ..BASE
};
