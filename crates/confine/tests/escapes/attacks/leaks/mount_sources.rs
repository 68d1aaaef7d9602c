//! Looks for home directories of the host among the sources of mounts. The kernel shows
//! where each granted directory lies in its file system, and nothing else may be shown.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "leaks/mount_sources",
    what: "finds homes among its mounts",
    attempt: |t| {
        let list = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let homes =
            t.names.keys().filter(|dir| dir.starts_with("/home") || dir.starts_with("/root"));
        let found =
            homes.map(|dir| format!(" {}/", dir.display())).any(|home| list.contains(&home));
        Outcome::when("found a home of the host", found)
    },
    control: Control::None("it depends on what the host has mounted"),
    held_by: OWN_TREE,
    ..BASE
};
