//! Turns swapping on and off, on a path that does not exist.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/swap",
    what: "turns swapping on and off",
    attempt: |_| {
        let path = text("/nonexistent/zonekeep");
        Outcome::any([
            Outcome::refused("swapon", call(libc::SYS_swapon, &[path.at(), 0])),
            Outcome::refused("swapoff", call(libc::SYS_swapoff, &[path.at()])),
        ])
    },
    control: Control::NeedsRoot("only root may"),
    ..BASE
};
