//! Looks for tables of the firmware and for security modules' settings.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "system/firmware",
    what: "reads tables of the firmware",
    attempt: |_| {
        Outcome::any(
            [
                "/sys/firmware",
                "/sys/kernel/security",
                "/sys/fs/bpf",
                "/sys/fs/pstore",
                "/sys/kernel/debug",
                "/proc/acpi",
                "/proc/scsi",
                "/proc/asound",
            ]
            .map(|path| {
                Outcome::when(
                    path,
                    fs::read_dir(path).is_ok_and(|mut names| names.next().is_some()),
                )
            }),
        )
    },
    control: Control::Depends("there is nothing of the kind here"),
    ..BASE
};
