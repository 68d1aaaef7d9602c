//! Sets attributes of its own for security modules.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/security_attributes",
    what: "sets its own security attributes",
    attempt: |_| Outcome::refused("lsm_set_self_attr", call(460, &[100, 0, 0, 0])),
    control: Control::Depends("the kernel does not have the call yet"),
    ..BASE
};
