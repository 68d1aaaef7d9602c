//! Makes a socket to the machine's hypervisor.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/vsock",
    what: "makes a socket to the hypervisor",
    attempt: |_| Outcome::refused("a vsock socket", sys::socket(40, libc::SOCK_STREAM, 0)),
    control: Control::Depends("the kernel has no vsock"),
    ..BASE
};
