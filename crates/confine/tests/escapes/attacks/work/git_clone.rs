//! Clones a repository that is in a zone.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "work/git_clone",
    what: "clones with git",
    attempt: |t| {
        super::git(
            t,
            &[
                &["init", "-q", "library"],
                &["-C", "library", "commit", "-q", "--allow-empty", "-m", "first"],
                &["-c", "protocol.file.allow=always", "clone", "-q", "library", "copy"],
            ],
        )
    },
    ..BASE
};
