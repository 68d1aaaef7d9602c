//! Handles its own page faults, with which exploits make the kernel wait.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/userfaultfd",
    what: "handles its own page faults",
    attempt: |_| Outcome::refused("userfaultfd", call(libc::SYS_userfaultfd, &[1])),
    control: Control::Depends("the kernel does not have the call"),
    ..BASE
};
