//! Makes an ordinary file with the bit by `mknodat`.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "setid/mknod",
    what: "makes a file with the bit by mknodat",
    attempt: |t| {
        let path = text(t.rw.join("new"));
        Outcome::of(
            "made it",
            call(libc::SYS_mknodat, &[sys::HERE, path.at(), (libc::S_IFREG | 0o4755) as usize, 0]),
        )
    },
    check: super::no_bits,
    ..BASE
};
