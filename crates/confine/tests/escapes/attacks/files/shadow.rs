//! Reads the files of the system that hold secrets, which root could.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/shadow",
    what: "reads the host's password hashes and keys",
    attempt: |_| {
        Outcome::any(
            [
                "/etc/shadow",
                "/etc/gshadow",
                "/etc/shadow-",
                "/etc/sudoers",
                "/etc/security/opasswd",
            ]
            .map(|path| Outcome::of(path, sys::open_for_reading(path))),
        )
    },
    control: Control::NeedsRoot("only root reads these"),
    ..BASE
};
