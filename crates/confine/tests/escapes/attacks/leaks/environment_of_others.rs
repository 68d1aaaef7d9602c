//! Looks for the caller's secrets in the environment of every other process: the
//! launcher, too, is started without them.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "leaks/environment_of_others",
    what: "finds secrets in other processes' environments",
    attempt: |t| {
        Outcome::when(
            "found the secret",
            t.others()
                .into_iter()
                .any(|pid| Target::is_secret(&fs::read(format!("/proc/{pid}/environ")))),
        )
    },
    ..BASE
};
