//! Leaves settings of an editor, at `.idea/workspace.xml`: it must not be there
//! afterwards.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/idea",
    what: "leaves settings of an editor",
    attempt: |t| super::plant(t, ".idea/workspace.xml"),
    check: |scene| scene.not_planted(&[".idea/workspace.xml"]),
    ..BASE
};
