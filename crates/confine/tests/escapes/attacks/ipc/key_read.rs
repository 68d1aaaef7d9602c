//! Reads the caller's key by its number.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "ipc/key_read",
    what: "reads the caller's key",
    attempt: |t| {
        const READ: usize = 11;
        let mut value = [0_u8; 64];
        let read = call(
            libc::SYS_keyctl,
            &[READ, t.key.unwrap_or(-1) as usize, sys::at_mut(&mut value), 64],
        );
        Outcome::when("read the secret", Target::is_secret(&read.map(|_| value.to_vec())))
    },
    control: Control::Depends("the kernel has no keys"),
    ..BASE
};
