//! Makes a repository with a hook deep inside, fast.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/hook_nested",
    what: "makes a repository with a hook deep inside",
    attempt: |t| super::plant(t, "a/b/c/d/e/f/g/.git/hooks/pre-push"),
    check: |scene| scene.not_planted(&["a/b/c/d/e/f/g/.git/hooks/pre-push"]),
    ..BASE
};
