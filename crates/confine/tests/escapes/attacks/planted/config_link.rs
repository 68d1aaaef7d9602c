//! Puts a link in place of the settings, to a file that is not guarded.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/config_link",
    what: "puts a link in place of settings",
    setup: |scene| scene.repository(""),
    attempt: |t| {
        let _ = fs::write(t.rw.join("innocent"), format!("[core]\n\thooksPath = {MARK}\n"));
        let _ = fs::remove_file(t.rw.join(".git/config"));
        let _ = std::os::unix::fs::symlink("../innocent", t.rw.join(".git/config"));
        Outcome::Tried
    },
    check: |scene| scene.not_planted(&[".git/config"]),
    ..BASE
};
