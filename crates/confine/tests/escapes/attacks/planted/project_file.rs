//! Leaves the file that says what agents may do, at `zonekeep.yaml`: it must not
//! be there afterwards.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/project_file",
    what: "leaves the file that says what agents may do",
    attempt: |t| super::plant(t, "zonekeep.yaml"),
    check: |scene| scene.not_planted(&["zonekeep.yaml"]),
    ..BASE
};
