//! Switches speculation on that the kernel holds back for processes with a filter.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/speculation",
    what: "switches speculation on",
    attempt: |_| {
        const SET_SPECULATION: usize = 53;
        const ENABLE: usize = 2;
        // By stores, by indirect branches, by the first-level cache.
        Outcome::any([0, 1, 2].map(|what| {
            let asked = || call(libc::SYS_prctl, &[SET_SPECULATION, what, ENABLE, 0, 0]).map(drop);
            Outcome::refused("switching speculation on", sys::in_child(asked))
        }))
    },
    control: Control::Depends("the processor needs no such switch, or it is held down"),
    ..BASE
};
