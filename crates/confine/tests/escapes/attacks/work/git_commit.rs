//! Makes a repository, adds a file and commits.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "work/git_commit",
    what: "commits with git",
    attempt: |t| {
        super::git(
            t,
            &[
                &["init", "-q", "repository"],
                &["-C", "repository", "commit", "-q", "--allow-empty", "-m", "first"],
                &["-C", "repository", "add", "-A"],
                &["-C", "repository", "status", "--short"],
            ],
        )
    },
    ..BASE
};
