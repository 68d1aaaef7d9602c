//! Mounts an empty file system over the writable zone, to hide what is there.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "mounts/tmpfs",
    what: "mounts an empty file system",
    attempt: |t| {
        let (kind, to) = (text("tmpfs"), text(&t.rw));
        let mounted = sys::own_mounts(t.confined)
            .and_then(|()| call(libc::SYS_mount, &[kind.at(), to.at(), kind.at(), 0, 0]));
        Outcome::of("mounted a file system", mounted)
    },
    ..BASE
};
