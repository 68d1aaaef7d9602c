//! Sets the bit with the newest call.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "setid/fchmodat2",
    what: "sets the bit with the newest call",
    attempt: |t| {
        let path = text(t.rw.join("file.txt"));
        Outcome::of("set the bit", call(sys::SYS_FCHMODAT2, &[sys::HERE, path.at(), 0o4755, 0]))
    },
    control: Control::Depends("the kernel does not have the call yet"),
    check: super::no_bits,
    ..BASE
};
