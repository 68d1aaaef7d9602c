//! Asks for the machine's name.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "leaks/host_name",
    what: "learns the machine's name",
    attempt: |t| {
        let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Outcome::when("knows the machine's name", name.trim() == t.hostname)
    },
    held_by: OWN_TREE,
    ..BASE
};
