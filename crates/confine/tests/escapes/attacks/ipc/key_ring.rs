//! Asks for the user's keyring, which all of the user's processes share.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "ipc/key_ring",
    what: "asks for the user's keyring",
    attempt: |_| {
        Outcome::refused("asking for a keyring", call(libc::SYS_keyctl, &[0, -4_isize as usize, 0]))
    },
    control: Control::Depends("the kernel has no keys"),
    ..BASE
};
