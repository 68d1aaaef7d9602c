//! Writes a program and runs it, which is ordinary work, and with it plants a
//! file by a shell.

use std::process::Command;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/own_program",
    what: "plants a file by a shell",
    attempt: |t| {
        let script = format!("mkdir -p .vscode && cd .vscode && echo '{MARK}' > tasks.json");
        let _ = Command::new("sh").args(["-c", &script]).current_dir(&t.rw).output();
        Outcome::Tried
    },
    check: |scene| scene.not_planted(&[".vscode/tasks.json"]),
    ..BASE
};
