//! Watches files by the kernel's notices for security programs.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/fanotify",
    what: "watches files for everybody",
    attempt: |_| Outcome::refused("fanotify_init", call(libc::SYS_fanotify_init, &[0x200, 0])),
    control: Control::Depends("the kernel does not have the call"),
    ..BASE
};
