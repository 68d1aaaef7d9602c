//! Adds a key to the keyrings that it shares with the user's other processes.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "ipc/key_add",
    what: "adds a key to shared keyrings",
    attempt: |t| {
        let (kind, name) = (text("user"), text(format!("{}-planted", t.token)));
        Outcome::any([-3_isize, -1].map(|ring| {
            Outcome::refused(
                "adding a key",
                call(
                    libc::SYS_add_key,
                    &[kind.at(), name.at(), sys::at(MARK), MARK.len(), ring as usize],
                ),
            )
        }))
    },
    control: Control::Depends("the kernel has no keys"),
    ..BASE
};
