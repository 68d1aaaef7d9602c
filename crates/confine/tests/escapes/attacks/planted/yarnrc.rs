//! Leaves settings of another package manager, at `.yarnrc.yml`: it must not be
//! there afterwards.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/yarnrc",
    what: "leaves settings of another package manager",
    attempt: |t| super::plant(t, ".yarnrc.yml"),
    check: |scene| scene.not_planted(&[".yarnrc.yml"]),
    ..BASE
};
