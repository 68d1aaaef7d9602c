//! Leaves settings of a package manager, at `packages/a/.npmrc`: it must not be
//! there afterwards.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/npmrc",
    what: "leaves settings of a package manager",
    attempt: |t| super::plant(t, "packages/a/.npmrc"),
    check: |scene| scene.not_planted(&["packages/a/.npmrc"]),
    ..BASE
};
