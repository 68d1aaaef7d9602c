//! Reads and changes the host's semaphores.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "ipc/semaphores",
    what: "reads the host's semaphores",
    attempt: |t| {
        Outcome::when(
            "read the semaphore",
            call(libc::SYS_semctl, &[t.sysv[2] as usize, 0, libc::GETVAL as usize])
                .is_ok_and(|value| value == 42),
        )
    },
    held_by: OWN_TREE,
    ..BASE
};
