//! Changes the owner of the read-only file, to the same and to another.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/ro_chown",
    what: "changes a read-only file's owner",
    attempt: |t| {
        let path = text(t.ro_file());
        let (uid, gid) = (
            rustix::process::getuid().as_raw() as usize,
            rustix::process::getgid().as_raw() as usize,
        );
        Outcome::any([
            Outcome::of("chown", call(libc::SYS_fchownat, &[sys::HERE, path.at(), uid, gid, 0])),
            Outcome::of(
                "chown to another",
                call(libc::SYS_fchownat, &[sys::HERE, path.at(), uid + 1, gid, 0]),
            ),
        ])
    },
    held_by: OWN_TREE,
    ..BASE
};
