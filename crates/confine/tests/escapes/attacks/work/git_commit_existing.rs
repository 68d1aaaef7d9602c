//! Commits in a repository that was there before.

use std::process::Command;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "work/git_commit_existing",
    what: "commits in a repository that exists",
    setup: |scene| {
        let _ = Command::new("git").args(["init", "-q"]).current_dir(scene.rw("")).output();
    },
    attempt: |t| {
        super::git(
            t,
            &[
                &["add", "-A"],
                &["commit", "-q", "-m", "first"],
                &["checkout", "-q", "-b", "topic"],
                &["log", "--oneline"],
            ],
        )
    },
    ..BASE
};
