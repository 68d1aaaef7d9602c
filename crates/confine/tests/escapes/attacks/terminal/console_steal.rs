//! Takes over the output of the console; what it asks is no terminal, so that
//! only whether the request arrives counts.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "terminal/console_steal",
    what: "takes over the console",
    attempt: |_| Outcome::refused("taking the console", sys::ioctl(&io::stdin(), 0x541d, 0)),
    ..BASE
};
