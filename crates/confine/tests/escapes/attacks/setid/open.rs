//! Makes a file with the bit in the mode given to `openat`.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "setid/open",
    what: "makes a file with the bit",
    attempt: |t| {
        Outcome::of("made it", sys::open(t.rw.join("new"), libc::O_CREAT | libc::O_WRONLY, 0o4755))
    },
    check: super::no_bits,
    ..BASE
};
