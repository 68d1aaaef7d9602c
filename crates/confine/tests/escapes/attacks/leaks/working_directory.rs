//! Asks where it is: the answer is a path inside, and the way up stays inside.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "leaks/working_directory",
    what: "learns the host's path from where it is",
    attempt: |t| {
        let told = std::env::current_dir().is_ok_and(|dir| dir.starts_with(&t.host));
        let link = fs::read_link("/proc/self/cwd").is_ok_and(|dir| dir.starts_with(&t.host));
        Outcome::when("was told a host path", told || link)
    },
    held_by: OWN_TREE,
    ..BASE
};
