//! Names filters in the repository's own attributes.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/git_info_attributes",
    what: "names filters in a repository",
    setup: |scene| scene.repository(""),
    attempt: |t| super::plant(t, ".git/info/attributes"),
    check: |scene| scene.not_planted(&[".git/info/attributes"]),
    ..BASE
};
