//! Makes a Bluetooth socket.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/bluetooth",
    what: "makes a Bluetooth socket",
    attempt: |_| Outcome::refused("a Bluetooth socket", sys::socket(31, libc::SOCK_RAW, 1)),
    control: Control::Depends("the kernel has no Bluetooth"),
    ..BASE
};
