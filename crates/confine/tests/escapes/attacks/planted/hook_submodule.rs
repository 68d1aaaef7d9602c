//! Leaves a hook where git keeps that of a submodule.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/hook_submodule",
    what: "leaves a hook of a submodule",
    setup: |scene| scene.repository(""),
    attempt: |t| super::plant(t, ".git/modules/library/hooks/post-checkout"),
    check: |scene| scene.not_planted(&[".git/modules/library/hooks/post-checkout"]),
    ..BASE
};
