//! Plants, removes and renames in a loop, and leaves off at a moment of its own
//! choice.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/again_and_again",
    what: "plants again and again",
    attempt: |t| {
        let start = std::time::Instant::now();
        while start.elapsed() < Duration::from_millis(400) {
            let _ = super::plant(t, ".envrc");
            let _ = super::plant(t, ".vscode/tasks.json");
            let _ = fs::rename(t.rw.join(".vscode"), t.rw.join("innocent"));
            let _ = fs::remove_dir_all(t.rw.join(".vscode"));
            let _ = fs::rename(t.rw.join("innocent"), t.rw.join(".vscode"));
        }
        Outcome::Tried
    },
    check: |scene| scene.not_planted(&[".envrc", ".vscode/tasks.json"]),
    ..BASE
};
