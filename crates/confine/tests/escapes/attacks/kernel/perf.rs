//! Counts events of the kernel, a known source of holes.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/perf",
    what: "counts performance events",
    attempt: |_| {
        // Software clock of this process alone, without the kernel.
        let mut request = [0_u64; 16];
        request[0] = 1 | 128 << 32;
        request[5] = 1 << 5 | 1 << 6;
        Outcome::refused(
            "perf_event_open",
            call(libc::SYS_perf_event_open, &[sys::at(&request), 0, usize::MAX, usize::MAX, 0]),
        )
    },
    control: Control::Depends("the kernel counts nothing for this user"),
    ..BASE
};
