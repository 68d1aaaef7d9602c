//! Reads the kernel's log by its file and its device.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "system/kernel_log",
    what: "reads the kernel's log",
    attempt: |_| {
        Outcome::any(
            ["/proc/kmsg", "/dev/kmsg", "/sys/kernel/debug", "/sys/kernel/tracing/trace"]
                .map(|path| Outcome::of(path, sys::open_for_reading(path))),
        )
    },
    control: Control::NeedsRoot("only root may"),
    ..BASE
};
