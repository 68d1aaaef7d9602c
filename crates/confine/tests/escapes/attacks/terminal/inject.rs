//! Types into the caller's terminal, so that a shell runs it once the command has
//! ended.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "terminal/inject",
    what: "types into the caller's terminal",
    attempt: |t| super::type_into(t, 0x5412),
    control: Control::Depends("the kernel types only for root"),
    ..BASE
};
