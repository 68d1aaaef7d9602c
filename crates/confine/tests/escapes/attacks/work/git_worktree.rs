//! Adds a worktree to a repository.

use std::process::Command;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "work/git_worktree",
    what: "adds a worktree with git",
    setup: |scene| {
        let _ = Command::new("git")
            .args(["init", "-q", "repository"])
            .current_dir(scene.rw(""))
            .output();
    },
    attempt: |t| {
        super::git(
            t,
            &[
                &["-C", "repository", "commit", "-q", "--allow-empty", "-m", "first"],
                &["-C", "repository", "worktree", "add", "-q", "../tree"],
            ],
        )
    },
    ..BASE
};
