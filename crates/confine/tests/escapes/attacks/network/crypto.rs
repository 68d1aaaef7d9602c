//! Makes a socket to the kernel's ciphers, a known source of holes.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/crypto",
    what: "makes a socket to the kernel's ciphers",
    attempt: |_| Outcome::refused("a cipher socket", sys::socket(38, libc::SOCK_SEQPACKET, 0)),
    control: Control::Depends("the kernel has no cipher sockets"),
    ..BASE
};
