//! Leaves settings for one worktree alone, which git reads beside the common
//! ones.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/hook_worktree",
    what: "leaves settings of a worktree",
    setup: |scene| scene.repository(""),
    attempt: |t| {
        let _ = super::plant(t, ".git/config.worktree");
        super::plant(t, ".git/worktrees/one/config.worktree")
    },
    check: |scene| {
        scene.not_planted(&[".git/config.worktree", ".git/worktrees/one/config.worktree"])
    },
    ..BASE
};
