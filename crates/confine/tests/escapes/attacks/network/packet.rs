//! Makes a packet socket, which reads all that passes.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/packet",
    what: "makes a packet socket",
    attempt: |_| Outcome::refused("a packet socket", sys::socket(17, libc::SOCK_RAW, 0x0300)),
    control: Control::NeedsRoot("only root may"),
    ..BASE
};
