//! Makes a process in a new user namespace by `clone3`, whose flags a filter
//! cannot see.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "mounts/clone3",
    what: "makes a namespace by clone3",
    attempt: |_| {
        // Flags come first, the signal at the end fifth.
        let mut request = [0_u64; 11];
        request[0] = libc::CLONE_NEWUSER as u64;
        request[4] = libc::SIGCHLD as u64;
        Outcome::of(
            "made a namespace",
            call(libc::SYS_clone3, &[sys::at(&request), 88]).map(|pid| {
                if pid == 0 {
                    // SAFETY: ends the new process and nothing else.
                    unsafe { libc::_exit(0) }
                }
                sys::wait(pid as i32);
            }),
        )
    },
    ..BASE
};
