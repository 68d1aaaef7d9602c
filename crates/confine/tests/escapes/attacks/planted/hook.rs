//! Leaves a hook in a repository that exists.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/hook",
    what: "leaves a hook in a repository",
    setup: |scene| scene.repository(""),
    attempt: |t| super::plant(t, ".git/hooks/pre-commit"),
    check: |scene| scene.not_planted(&[".git/hooks/pre-commit"]),
    ..BASE
};
