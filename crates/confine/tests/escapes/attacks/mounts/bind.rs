//! Binds the root directory over a directory of the writable zone, in a mount
//! namespace of its own if it can get one: nothing can be mounted.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "mounts/bind",
    what: "binds one directory over another",
    attempt: |t| {
        let place = t.rw.join("place");
        let _ = fs::create_dir(&place);
        let (from, to) = (text("/"), text(&place));
        let mounted = sys::own_mounts(t.confined).and_then(|()| {
            call(
                libc::SYS_mount,
                &[from.at(), to.at(), 0, (libc::MS_BIND | libc::MS_REC) as usize, 0],
            )
        });
        Outcome::of("bound a directory", mounted)
    },
    ..BASE
};
