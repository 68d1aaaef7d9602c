//! Opens the switches of devices and power for writing; nothing is written.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "system/sysfs_power",
    what: "opens switches of devices",
    attempt: |_| {
        Outcome::any(
            [
                "/sys/power/state",
                "/sys/power/pm_async",
                "/sys/module/printk/parameters/time",
                "/sys/devices/system/cpu/cpu1/online",
                "/sys/block/loop0/uevent",
                "/sys/block/vda/uevent",
                "/sys/block/sda/uevent",
            ]
            .map(|path| Outcome::of(path, sys::open_for_writing(path))),
        )
    },
    control: Control::NeedsRoot("only root may"),
    ..BASE
};
