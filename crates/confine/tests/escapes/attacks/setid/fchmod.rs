//! Sets the set-gid bit on an open file.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "setid/fchmod",
    what: "sets the bit on an open file",
    attempt: |t| {
        let file = fs::File::create(t.rw.join("new")).unwrap();
        Outcome::of("set the bit", call(libc::SYS_fchmod, &[file.as_raw_fd() as usize, 0o2755]))
    },
    check: super::no_bits,
    ..BASE
};
