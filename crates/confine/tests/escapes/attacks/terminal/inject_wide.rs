//! Types into the caller's terminal with a request whose upper half is not zero,
//! which the kernel does not look at.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "terminal/inject_wide",
    what: "types with a wide request",
    attempt: |t| super::type_into(t, 1 << 32 | 0x5412),
    control: Control::Depends("the kernel types only for root"),
    ..BASE
};
