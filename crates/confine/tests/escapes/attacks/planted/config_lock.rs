//! Writes the settings' lock file and renames it, the very way of git.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/config_lock",
    what: "replaces settings the way git does",
    setup: |scene| scene.repository(""),
    attempt: |t| {
        let _ = fs::write(t.rw.join(".git/config.lock"), format!("[alias]\n\tstatus = !{MARK}\n"));
        let _ = fs::rename(t.rw.join(".git/config.lock"), t.rw.join(".git/config"));
        Outcome::Tried
    },
    check: |scene| scene.not_planted(&[".git/config"]),
    ..BASE
};
