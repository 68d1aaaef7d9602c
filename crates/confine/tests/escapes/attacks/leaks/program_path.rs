//! Asks where its program is.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "leaks/program_path",
    what: "learns the host's path of its program",
    attempt: |t| {
        let told = fs::read_link("/proc/self/exe")
            .is_ok_and(|path| path.starts_with(t.host.parent().unwrap()));
        Outcome::when("was told a host path", told)
    },
    held_by: OWN_TREE,
    ..BASE
};
