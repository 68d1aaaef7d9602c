//! Asks for the machine's input and output ports, giving up rights it never had.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/ports",
    what: "asks for the machine's ports",
    attempt: |_| {
        Outcome::any([
            Outcome::refused("iopl", call(libc::SYS_iopl, &[0])),
            Outcome::refused("ioperm", call(libc::SYS_ioperm, &[0x80, 1, 0])),
        ])
    },
    control: Control::Depends("the kernel gives no ports"),
    ..BASE
};
