//! Leaves a start-up file of a shell, at `sub/.bashrc`: it must not be there
//! afterwards.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/bashrc",
    what: "leaves a start-up file of a shell",
    attempt: |t| super::plant(t, "sub/.bashrc"),
    check: |scene| scene.not_planted(&["sub/.bashrc"]),
    ..BASE
};
