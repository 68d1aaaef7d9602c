//! Leaves programs that run in continuous integration, at
//! `.github/workflows/ci.yml`: it must not be there afterwards.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/workflow",
    what: "leaves programs that run in continuous integration",
    attempt: |t| super::plant(t, ".github/workflows/ci.yml"),
    check: |scene| scene.not_planted(&[".github/workflows/ci.yml"]),
    ..BASE
};
