//! Leaves settings of a build tool, at `.cargo/config.toml`: it must not be there
//! afterwards.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/cargo_config",
    what: "leaves settings of a build tool",
    attempt: |t| super::plant(t, ".cargo/config.toml"),
    check: |scene| scene.not_planted(&[".cargo/config.toml"]),
    ..BASE
};
