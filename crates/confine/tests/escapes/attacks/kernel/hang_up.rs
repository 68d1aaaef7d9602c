//! Hangs up its terminal for everybody.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/hang_up",
    what: "hangs up the terminal",
    attempt: |_| Outcome::refused("vhangup", call(libc::SYS_vhangup, &[])),
    control: Control::None("root would hang up the session"),
    ..BASE
};
