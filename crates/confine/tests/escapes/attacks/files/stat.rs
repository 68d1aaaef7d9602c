//! Asks for the size and times of the secret: not even that something is there
//! may be learnt.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/stat",
    what: "asks about a file outside without opening it",
    attempt: |t| Outcome::of("learnt about the secret", fs::symlink_metadata(t.secret())),
    held_by: OWN_TREE,
    ..BASE
};
