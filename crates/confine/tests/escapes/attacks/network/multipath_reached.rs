//! Makes a socket for multipath TCP: there is none inside.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/multipath_reached",
    what: "makes a multipath socket",
    attempt: |_| Outcome::refused("the socket", sys::socket(2, libc::SOCK_STREAM, 262)),
    control: Control::Depends("the kernel has no multipath TCP"),
    ..BASE
};
