//! Looks for the caller's secrets in its environment.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "leaks/environment",
    what: "finds secrets in its environment",
    attempt: |_| {
        Outcome::when(
            "found the secret",
            std::env::vars_os().any(|(_, value)| value.to_string_lossy().contains(SECRET)),
        )
    },
    ..BASE
};
