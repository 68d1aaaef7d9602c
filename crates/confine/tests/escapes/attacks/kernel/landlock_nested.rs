//! Puts rules of its own that allow everything on itself: rules only ever take
//! away.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/landlock_nested",
    what: "adds rules that allow everything",
    attempt: |t| {
        Outcome::when(
            "read the secret",
            sys::in_child(|| {
                let handled = 0xd_u64; // running, reading files, listing
                let rules = call(libc::SYS_landlock_create_ruleset, &[sys::at(&handled), 8, 0])
                    .map(sys::owned);
                if let (Ok(rules), Ok(root)) = (rules, sys::open("/", libc::O_PATH, 0)) {
                    let mut rule = [0_u8; 12];
                    rule[..8].copy_from_slice(&handled.to_ne_bytes());
                    rule[8..].copy_from_slice(&root.as_raw_fd().to_ne_bytes());
                    let fd = rules.as_raw_fd() as usize;
                    let _ = call(libc::SYS_landlock_add_rule, &[fd, 1, sys::at(&rule), 0]);
                    let _ =
                        call(libc::SYS_prctl, &[libc::PR_SET_NO_NEW_PRIVS as usize, 1, 0, 0, 0]);
                    let _ = call(libc::SYS_landlock_restrict_self, &[fd, 0]);
                }
                fs::read(t.secret()).map(|_| ())
            })
            .is_ok(),
        )
    },
    ..BASE
};
