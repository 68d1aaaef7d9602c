//! Picks the mounted root with `fspick`, to configure it anew.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "mounts/fspick",
    what: "picks a mounted file system to change it",
    attempt: |t| {
        let root = text(&t.rw);
        let picked = sys::own_mounts(t.confined).and_then(|()| {
            if !t.confined {
                // On a mount of its own, so that the host's is not touched.
                let kind = text("tmpfs");
                call(libc::SYS_mount, &[kind.at(), root.at(), kind.at(), 0, 0])?;
            }
            call(libc::SYS_fspick, &[sys::HERE, root.at(), 0])
        });
        Outcome::of("picked a file system", picked)
    },
    ..BASE
};
