//! Calls `reboot` with numbers that never restart anything: it must be refused
//! before the kernel looks at them.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/reboot",
    what: "calls reboot",
    attempt: |_| Outcome::refused("reboot", call(libc::SYS_reboot, &[0, 0, 0, 0])),
    control: Control::None("nobody tries that outside"),
    ..BASE
};
