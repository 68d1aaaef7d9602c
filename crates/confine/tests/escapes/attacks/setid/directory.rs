//! Sets the set-gid bit on a directory, which what is made in it takes on.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "setid/directory",
    what: "sets the bit on a directory",
    attempt: |t| {
        let dir = t.rw.join("dir");
        fs::create_dir(&dir).unwrap();
        let path = text(&dir);
        Outcome::of("set the bit", call(libc::SYS_fchmodat, &[sys::HERE, path.at(), 0o2755]))
    },
    check: super::no_bits,
    ..BASE
};
