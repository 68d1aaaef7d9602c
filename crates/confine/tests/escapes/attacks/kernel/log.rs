//! Asks for the size of the kernel's log and reads from it.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/log",
    what: "reads the kernel's log by its call",
    attempt: |_| {
        let mut text = [0_u8; 64];
        Outcome::any([
            Outcome::refused("its size", call(libc::SYS_syslog, &[10, 0, 0])),
            Outcome::refused("its end", call(libc::SYS_syslog, &[3, sys::at_mut(&mut text), 64])),
        ])
    },
    control: Control::Depends("the kernel shows its log only to root"),
    ..BASE
};
