//! Sets the bit with a mode whose unused upper half is not zero, to get past a
//! comparison of the whole.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "setid/wide_argument",
    what: "hides the bit in a wide argument",
    attempt: |t| {
        let path = text(t.rw.join("file.txt"));
        Outcome::any([1_usize << 32 | 0o4755, 1 << 63 | 0o2755, 0o177_0000 | 0o4755].map(|mode| {
            Outcome::of("set the bit", call(libc::SYS_fchmodat, &[sys::HERE, path.at(), mode]))
        }))
    },
    check: super::no_bits,
    ..BASE
};
