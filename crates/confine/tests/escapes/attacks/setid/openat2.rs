//! Makes a file with the bit by `openat2`, whose mode a filter cannot see.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "setid/openat2",
    what: "makes a file with the bit by openat2",
    attempt: |t| {
        let (path, how) =
            (text(t.rw.join("new")), [(libc::O_CREAT | libc::O_WRONLY) as u64, 0o4755, 0]);
        Outcome::of("made it", call(libc::SYS_openat2, &[sys::HERE, path.at(), sys::at(&how), 24]))
    },
    check: super::no_bits,
    ..BASE
};
