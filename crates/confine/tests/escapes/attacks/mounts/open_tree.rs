//! Copies a mount with `open_tree` and attaches it with `move_mount`.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "mounts/open_tree",
    what: "copies and attaches a mount",
    attempt: |t| {
        const CLONE: usize = 1;
        const FROM_EMPTY: usize = 4;
        let place = t.rw.join("place");
        let _ = fs::create_dir(&place);
        let (from, to, empty) = (text("/"), text(&place), text(""));
        let tree = sys::own_mounts(t.confined)
            .and_then(|()| {
                call(
                    libc::SYS_open_tree,
                    &[sys::HERE, from.at(), CLONE | libc::AT_RECURSIVE as usize],
                )
            })
            .map(sys::owned);
        Outcome::of(
            "attached a copy",
            tree.and_then(|tree| {
                call(
                    libc::SYS_move_mount,
                    &[tree.as_raw_fd() as usize, empty.at(), sys::HERE, to.at(), FROM_EMPTY],
                )
            }),
        )
    },
    ..BASE
};
