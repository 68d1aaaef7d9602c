//! Sets the set-uid bit with `chmod`: the bit must not be on a file of the host.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "setid/chmod",
    what: "sets the bit with chmod",
    attempt: |t| {
        let path = text(t.rw.join("file.txt"));
        Outcome::of("set the bit", call(libc::SYS_fchmodat, &[sys::HERE, path.at(), 0o4755]))
    },
    check: super::no_bits,
    ..BASE
};
