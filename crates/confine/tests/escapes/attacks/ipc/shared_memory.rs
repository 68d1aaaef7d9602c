//! Attaches the host's shared memory segment and reads it.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "ipc/shared_memory",
    what: "reads the host's shared memory",
    attempt: |t| {
        let read = call(libc::SYS_shmat, &[t.sysv[0] as usize, 0, libc::SHM_RDONLY as usize]).map(
            |address| {
                // SAFETY: the kernel just mapped a page there.
                unsafe { std::slice::from_raw_parts(address as *const u8, SECRET.len()) }.to_vec()
            },
        );
        Outcome::when("read the secret", Target::is_secret(&read))
    },
    held_by: OWN_TREE,
    ..BASE
};
