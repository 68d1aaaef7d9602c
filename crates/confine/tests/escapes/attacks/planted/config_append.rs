//! Adds to the settings of a repository, in place.

use std::io::Write;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/config_append",
    what: "adds to a repository's settings",
    setup: |scene| scene.repository(""),
    attempt: |t| {
        if let Ok(mut file) = fs::OpenOptions::new().append(true).open(t.rw.join(".git/config")) {
            let _ = writeln!(file, "[core]\n\tfsmonitor = {MARK}");
        }
        Outcome::Tried
    },
    check: |scene| scene.not_planted(&[".git/config"]),
    ..BASE
};
