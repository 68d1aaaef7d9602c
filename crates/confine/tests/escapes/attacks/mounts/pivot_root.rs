//! Makes a directory of the writable zone the root of everything.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "mounts/pivot_root",
    what: "changes the root by pivot_root",
    attempt: |t| {
        let _ = sys::own_mounts(t.confined);
        let (kind, to, here) = (text("tmpfs"), text(&t.rw), text("."));
        let pivoted =
            call(libc::SYS_mount, &[kind.at(), to.at(), kind.at(), 0, 0]).and_then(|_| {
                std::env::set_current_dir(&t.rw)?;
                call(libc::SYS_pivot_root, &[here.at(), here.at()])
            });
        Outcome::of("changed the root", pivoted)
    },
    ..BASE
};
