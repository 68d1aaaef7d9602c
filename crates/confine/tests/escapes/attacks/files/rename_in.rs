//! Renames the secret into the writable zone, and swaps it with a file there.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/rename_in",
    what: "moves a file in, or swaps it with one inside",
    attempt: |t| {
        let (from, to) = (text(t.secret()), text(t.rw.join("file.txt")));
        let swapped = call(
            libc::SYS_renameat2,
            &[sys::HERE, from.at(), sys::HERE, to.at(), libc::RENAME_EXCHANGE as usize],
        );
        let moved = fs::rename(t.secret(), t.rw.join("moved-in"));
        Outcome::any([
            Outcome::of("swapped the secret", swapped),
            Outcome::of("moved the secret in", moved),
        ])
    },
    ..BASE
};
