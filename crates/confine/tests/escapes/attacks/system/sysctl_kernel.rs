//! Opens settings of the kernel for writing; nothing is written.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "system/sysctl_kernel",
    what: "opens kernel settings for writing",
    attempt: |_| {
        Outcome::any(
            [
                "modprobe",
                "hotplug",
                "hostname",
                "domainname",
                "panic",
                "sysrq",
                "randomize_va_space",
                "kptr_restrict",
                "dmesg_restrict",
                "pid_max",
                "threads-max",
                "shmmax",
                "msgmax",
                "sem",
                "keys/maxkeys",
            ]
            .map(|name| {
                Outcome::of(name, sys::open_for_writing(Path::new("/proc/sys/kernel").join(name)))
            }),
        )
    },
    control: Control::NeedsRoot("only root may"),
    ..BASE
};
