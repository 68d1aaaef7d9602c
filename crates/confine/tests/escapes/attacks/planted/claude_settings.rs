//! Leaves settings of a coding agent, at `.claude/settings.json`: it must not be
//! there afterwards.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/claude_settings",
    what: "leaves settings of a coding agent",
    attempt: |t| super::plant(t, ".claude/settings.json"),
    check: |scene| scene.not_planted(&[".claude/settings.json"]),
    ..BASE
};
