//! Leaves a container that an editor builds, at
//! `.devcontainer/devcontainer.json`: it must not be there afterwards.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/devcontainer",
    what: "leaves a container that an editor builds",
    attempt: |t| super::plant(t, ".devcontainer/devcontainer.json"),
    check: |scene| scene.not_planted(&[".devcontainer/devcontainer.json"]),
    ..BASE
};
