//! Asks to be traced by its parent, which needs no right: the call is closed.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/trace_reached",
    what: "asks to be traced",
    attempt: |_| {
        Outcome::refused(
            "ptrace",
            sys::in_child(|| call(libc::SYS_ptrace, &[0, 0, 0, 0]).map(|_| ())),
        )
    },
    ..BASE
};
