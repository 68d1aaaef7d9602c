//! Reads lists that name every process of the host: timers, scheduling, locks.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "system/timers",
    what: "reads lists of the host's processes",
    attempt: |_| {
        Outcome::any(
            ["/proc/timer_list", "/proc/sched_debug", "/proc/latency_stats"]
                .map(|path| Outcome::of(path, sys::open_for_reading(path))),
        )
    },
    control: Control::Depends("there are no such lists here, or only root may"),
    held_by: OWN_TREE,
    ..BASE
};
