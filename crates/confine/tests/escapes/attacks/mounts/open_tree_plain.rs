//! Calls `open_tree` without a copy, which needs no privilege and shows whether
//! the new mount calls are closed.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "mounts/open_tree_plain",
    what: "opens a mount by the new calls",
    attempt: |_| {
        let root = text("/");
        Outcome::refused("open_tree", call(libc::SYS_open_tree, &[sys::HERE, root.at(), 0]))
    },
    ..BASE
};
