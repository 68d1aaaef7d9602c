//! Has git itself change the settings to something that runs a program.

use std::process::Command;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/config_by_git",
    what: "has git change its settings",
    setup: |scene| scene.repository(""),
    attempt: |t| {
        let run = Command::new("git")
            .arg("-C")
            .arg(&t.rw)
            .args(["config", "core.fsmonitor", MARK])
            .output();
        match run {
            Err(error) => Outcome::Held(format!("there is no git: {error}")),
            Ok(_) => Outcome::Tried,
        }
    },
    control: Control::Depends("git is missing"),
    check: |scene| scene.not_planted(&[".git/config"]),
    ..BASE
};
