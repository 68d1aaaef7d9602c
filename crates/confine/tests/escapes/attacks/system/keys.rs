//! Reads the list of keys for the caller's.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "system/keys",
    what: "reads the list of keys",
    attempt: |t| {
        Outcome::when(
            "saw the caller's key",
            fs::read_to_string("/proc/keys").is_ok_and(|keys| keys.contains(&t.token)),
        )
    },
    control: Control::Depends("the kernel shows no keys"),
    held_by: OWN_TREE,
    ..BASE
};
