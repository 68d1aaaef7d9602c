//! Opens settings of memory and file systems for writing; nothing is written.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "system/sysctl_memory",
    what: "opens memory and file settings for writing",
    attempt: |_| {
        Outcome::any(
            [
                "vm/overcommit_memory",
                "vm/drop_caches",
                "vm/panic_on_oom",
                "vm/swappiness",
                "fs/file-max",
                "fs/protected_hardlinks",
                "fs/suid_dumpable",
                "fs/pipe-max-size",
                "fs/mqueue/msg_max",
                "fs/inotify/max_user_watches",
            ]
            .map(|name| {
                Outcome::of(name, sys::open_for_writing(Path::new("/proc/sys").join(name)))
            }),
        )
    },
    control: Control::NeedsRoot("only root may"),
    ..BASE
};
