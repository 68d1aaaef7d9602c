//! Looks for processes of the host in `/proc`.

use super::BASE;
use crate::prelude::*;
use crate::scene::processes_with;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/list",
    what: "lists processes of the host",
    attempt: |t| {
        Outcome::when(
            "saw a process of the host",
            !processes_with(&["--victim", &t.token]).is_empty(),
        )
    },
    held_by: OWN_TREE,
    ..BASE
};
