//! Changes to a directory that was left open and climbs from there.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "leaks/descriptor_climb",
    what: "changes to a directory that was left open",
    attempt: |t| {
        Outcome::any(t.open.iter().map(|&fd| {
            Outcome::of(
                "read the secret",
                sys::in_child(|| {
                    call(libc::SYS_fchdir, &[fd as usize])?;
                    fs::read("../outside/secret.txt").map(|_| ())
                }),
            )
        }))
    },
    ..BASE
};
