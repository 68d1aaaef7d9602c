//! Builds everything under innocent names and renames the whole directory into
//! place.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/rename_into_place",
    what: "renames a prepared directory into place",
    attempt: |t| {
        let _ = super::plant(t, "innocent/hooks/pre-commit");
        let _ = super::plant(t, "innocent/tasks.json");
        let _ = fs::rename(t.rw.join("innocent"), t.rw.join(".git"));
        let _ = super::plant(t, "second/settings.json");
        let _ = fs::rename(t.rw.join("second"), t.rw.join(".vscode"));
        Outcome::Tried
    },
    check: |scene| scene.not_planted(&[".git/hooks/pre-commit", ".vscode/settings.json"]),
    ..BASE
};
