//! Swaps the file of the read-only zone with one of the writable zone.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/ro_exchange",
    what: "swaps a read-only file with its own",
    attempt: |t| {
        let (from, to) = (text(t.ro_file()), text(t.rw.join("file.txt")));
        Outcome::of(
            "swapped it",
            call(
                libc::SYS_renameat2,
                &[sys::HERE, from.at(), sys::HERE, to.at(), libc::RENAME_EXCHANGE as usize],
            ),
        )
    },
    ..BASE
};
