//! Leaves settings for one worktree alone, which git reads beside the common
//! ones.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/hook_worktree",
    what: "leaves settings of a worktree",
    setup: |scene| scene.repository(""),
    attempt: |t| {
        let _ = super::plant_text(
            t,
            ".git/config.worktree",
            &format!("[core]\n\tfsmonitor = {MARK}\n"),
        );
        super::plant_text(
            t,
            ".git/worktrees/one/config.worktree",
            &format!("[core]\n\tfsmonitor = {MARK}\n"),
        )
    },
    check: |scene| {
        scene.not_planted(&[".git/config.worktree", ".git/worktrees/one/config.worktree"])
    },
    ..BASE
};
