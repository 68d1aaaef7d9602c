//! Reads serial numbers of the hardware.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "leaks/serial_numbers",
    what: "learns serial numbers",
    attempt: |_| {
        Outcome::any(
            [
                "/sys/class/dmi/id/product_uuid",
                "/sys/class/dmi/id/product_serial",
                "/sys/class/net/eth0/address",
                "/proc/device-tree/serial-number",
            ]
            .map(|path| {
                Outcome::when(
                    path,
                    fs::read_to_string(path).is_ok_and(|text| !text.trim().is_empty()),
                )
            }),
        )
    },
    control: Control::Depends("the machine has none that this user can read"),
    held_by: OWN_TREE,
    ..BASE
};
