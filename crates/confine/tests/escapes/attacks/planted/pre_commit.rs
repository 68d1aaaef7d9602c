//! Leaves programs that run at every commit, at `.pre-commit-config.yaml`: it
//! must not be there afterwards.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/pre_commit",
    what: "leaves programs that run at every commit",
    attempt: |t| super::plant(t, ".pre-commit-config.yaml"),
    check: |scene| scene.not_planted(&[".pre-commit-config.yaml"]),
    ..BASE
};
