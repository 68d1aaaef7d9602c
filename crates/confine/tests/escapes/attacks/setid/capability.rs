//! Puts capabilities on a file by its attribute, which works like the bit.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "setid/capability",
    what: "puts capabilities on a file",
    attempt: |t| {
        let (path, name) = (text(t.rw.join("file.txt")), text("security.capability"));
        // Revision 2, effective; the first word of permitted capabilities.
        let value = [0x0200_0001_u32, 0x0000_0400, 0, 0, 0];
        Outcome::of(
            "put them on",
            call(libc::SYS_setxattr, &[path.at(), name.at(), sys::at(&value), 20, 0]),
        )
    },
    control: Control::NeedsRoot("only root may"),
    ..BASE
};
