//! Opens the kernel's memory and the machine's: both would show everything.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "system/kernel_memory",
    what: "opens the kernel's memory",
    attempt: |_| {
        Outcome::any(
            [
                "/proc/kcore",
                "/proc/kpageflags",
                "/proc/kpagecount",
                "/proc/vmallocinfo",
                "/dev/mem",
                "/dev/kmem",
                "/dev/port",
            ]
            .map(|path| Outcome::of(path, sys::open_for_reading(path))),
        )
    },
    control: Control::NeedsRoot("only root may"),
    held_by: OWN_TREE,
    not_for_root: &[Backend::Bubblewrap],
    ..BASE
};
