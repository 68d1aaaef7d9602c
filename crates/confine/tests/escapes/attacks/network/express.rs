//! Makes a socket for express packets.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/express",
    what: "makes an express packet socket",
    attempt: |_| Outcome::refused("an express socket", sys::socket(44, libc::SOCK_RAW, 0)),
    control: Control::Depends("only root may, where the kernel has it"),
    ..BASE
};
