//! Puts an extended attribute on the read-only file.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/ro_xattr",
    what: "puts an attribute on a read-only file",
    attempt: |t| {
        let (path, name) = (text(t.ro_file()), text("user.planted"));
        Outcome::of(
            "set an attribute",
            call(libc::SYS_setxattr, &[path.at(), name.at(), sys::at(MARK), MARK.len(), 0]),
        )
    },
    control: Control::Depends("the file system has no such attributes"),
    held_by: OWN_TREE,
    ..BASE
};
