//! Opens files of the kernel's tree for writing, the program for device events
//! first; nothing is written.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "system/sysfs_write",
    what: "opens files of /sys for writing",
    attempt: |_| {
        Outcome::any(
            [
                "uevent_helper",
                "uevent_seqnum",
                "profiling",
                "mm/ksm/run",
                "mm/transparent_hugepage/enabled",
                "mm/page_idle/bitmap",
                "rcu_expedited",
                "kexec_crash_size",
            ]
            .map(|name| {
                Outcome::of(name, sys::open_for_writing(Path::new("/sys/kernel").join(name)))
            }),
        )
    },
    control: Control::NeedsRoot("only root may"),
    ..BASE
};
