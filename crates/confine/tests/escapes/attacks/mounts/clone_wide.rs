//! Makes a process in a new user namespace with flags whose upper half is not
//! zero, which the kernel does not look at.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "mounts/clone_wide",
    what: "hides a namespace in wide flags",
    attempt: |_| {
        let flags = 1 << 32 | (libc::CLONE_NEWUSER | libc::SIGCHLD) as usize;
        Outcome::of(
            "made a namespace",
            call(libc::SYS_clone, &[flags, 0, 0, 0, 0]).map(|pid| {
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
