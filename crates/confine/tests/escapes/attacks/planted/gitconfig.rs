//! Leaves settings of git for a user, at `home/.gitconfig`: it must not be there
//! afterwards.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/gitconfig",
    what: "leaves settings of git for a user",
    attempt: |t| super::plant(t, "home/.gitconfig"),
    check: |scene| scene.not_planted(&["home/.gitconfig"]),
    ..BASE
};
