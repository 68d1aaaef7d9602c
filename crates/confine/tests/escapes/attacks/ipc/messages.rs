//! Takes a message from the host's queue.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "ipc/messages",
    what: "reads the host's message queue",
    attempt: |t| {
        let mut message = [0_u8; 256];
        let read = call(
            libc::SYS_msgrcv,
            &[t.sysv[1] as usize, sys::at_mut(&mut message), 200, 0, libc::IPC_NOWAIT as usize],
        );
        Outcome::when("read the secret", Target::is_secret(&read.map(|_| message.to_vec())))
    },
    held_by: OWN_TREE,
    ..BASE
};
