//! Sets the set-uid bit with the oldest call.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "setid/chmod_old",
    what: "sets the bit with the oldest call",
    attempt: |t| {
        let path = text(t.rw.join("file.txt"));
        Outcome::of("set the bit", call(libc::SYS_chmod, &[path.at(), 0o6755]))
    },
    check: super::no_bits,
    ..BASE
};
