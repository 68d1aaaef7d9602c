//! Makes files with the bit by `open` and `creat`.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "setid/open_old",
    what: "makes a file with the bit by older calls",
    attempt: |t| {
        let (one, two) = (text(t.rw.join("one")), text(t.rw.join("two")));
        Outcome::any([
            Outcome::of(
                "open",
                call(
                    libc::SYS_open,
                    &[one.at(), (libc::O_CREAT | libc::O_WRONLY) as usize, 0o4755],
                ),
            ),
            Outcome::of("creat", call(libc::SYS_creat, &[two.at(), 0o2755])),
        ])
    },
    check: super::no_bits,
    ..BASE
};
