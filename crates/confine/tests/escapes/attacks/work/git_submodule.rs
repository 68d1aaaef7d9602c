//! Adds a repository to another as a submodule.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "work/git_submodule",
    what: "adds a submodule with git",
    attempt: |t| {
        super::git(
            t,
            &[
                &["init", "-q", "library"],
                &["-C", "library", "commit", "-q", "--allow-empty", "-m", "first"],
                &["init", "-q", "project"],
                &[
                    "-C",
                    "project",
                    "-c",
                    "protocol.file.allow=always",
                    "submodule",
                    "--quiet",
                    "add",
                    "../library",
                    "library",
                ],
            ],
        )
    },
    ..BASE
};
