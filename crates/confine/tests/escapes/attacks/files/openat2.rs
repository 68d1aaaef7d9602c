//! Opens the secret with `openat2`, whose mode a filter cannot see.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/openat2",
    what: "opens a file outside by openat2",
    attempt: |t| {
        let (path, how) = (text(t.secret()), [0_u64; 3]);
        Outcome::of(
            "opened the secret",
            call(libc::SYS_openat2, &[sys::HERE, path.at(), sys::at(&how), 24]),
        )
    },
    ..BASE
};
