//! Exchanges `.git` for a directory of its own in one step.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "planted/git_exchange",
    what: "exchanges the repository for another",
    setup: |scene| scene.repository(""),
    attempt: |t| {
        super::craft(t, "innocent");
        let (from, to) = (text(t.rw.join("innocent")), text(t.rw.join(".git")));
        let _ = call(
            libc::SYS_renameat2,
            &[sys::HERE, from.at(), sys::HERE, to.at(), libc::RENAME_EXCHANGE as usize],
        );
        Outcome::Tried
    },
    check: |scene| scene.not_planted(&[".git/config"]),
    ..BASE
};
