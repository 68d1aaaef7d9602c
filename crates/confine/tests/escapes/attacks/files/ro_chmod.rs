//! Changes the permissions of the read-only file by each call that does so.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/ro_chmod",
    what: "changes a read-only file's permissions",
    attempt: |t| {
        let path = text(t.ro_file());
        let by_fd = fs::File::open(t.ro_file())
            .and_then(|file| call(libc::SYS_fchmod, &[file.as_raw_fd() as usize, 0o777]));
        Outcome::any([
            Outcome::of("fchmodat", call(libc::SYS_fchmodat, &[sys::HERE, path.at(), 0o777])),
            Outcome::of("fchmodat2", call(sys::SYS_FCHMODAT2, &[sys::HERE, path.at(), 0o777, 0])),
            Outcome::of("fchmod", by_fd),
        ])
    },
    held_by: OWN_TREE,
    ..BASE
};
