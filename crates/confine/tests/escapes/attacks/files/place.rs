//! Opens the secret with `O_PATH`, only as a place to hold: there is no such
//! place inside.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/place",
    what: "opens a file outside only as a place",
    attempt: |t| {
        let place = sys::open(t.secret(), libc::O_PATH, 0);
        Outcome::of("holds the secret's place", place.map(|fd| fd.as_raw_fd()))
    },
    held_by: OWN_TREE,
    ..BASE
};
