//! Leaves a hook below `.GIT`, which is the same directory on some file systems.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/hook_upper_case",
    what: "leaves a hook in another case",
    attempt: |t| super::plant(t, ".GIT/hooks/pre-commit"),
    check: |scene| scene.not_planted(&[".GIT/hooks/pre-commit"]),
    ..BASE
};
