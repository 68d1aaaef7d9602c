//! Leaves tasks of an editor, at `.vscode/tasks.json`: it must not be there
//! afterwards.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/vscode",
    what: "leaves tasks of an editor",
    attempt: |t| super::plant(t, ".vscode/tasks.json"),
    check: |scene| scene.not_planted(&[".vscode/tasks.json"]),
    ..BASE
};
