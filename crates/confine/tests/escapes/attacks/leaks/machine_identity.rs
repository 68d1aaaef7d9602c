//! Reads the number that tells machines apart.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "leaks/machine_identity",
    what: "learns the machine's identity",
    attempt: |_| {
        let known = |path: &str| {
            fs::read_to_string(path)
                .is_ok_and(|id| id.trim().len() == 32 && id.trim().bytes().any(|b| b != b'0'))
        };
        Outcome::when(
            "knows the machine",
            ["/etc/machine-id", "/var/lib/dbus/machine-id"].iter().any(|path| known(path)),
        )
    },
    control: Control::Depends("the machine has no such number"),
    held_by: OWN_TREE,
    ..BASE
};
