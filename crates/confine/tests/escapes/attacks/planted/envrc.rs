//! Leaves an environment that a shell takes on, at `.envrc`: it must not be there
//! afterwards.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/envrc",
    what: "leaves an environment that a shell takes on",
    attempt: |t| super::plant(t, ".envrc"),
    check: |scene| scene.not_planted(&[".envrc"]),
    ..BASE
};
