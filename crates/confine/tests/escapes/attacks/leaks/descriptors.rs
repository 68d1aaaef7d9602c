//! Opens the secret through descriptors that the caller left open, with low and
//! high numbers.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "leaks/descriptors",
    what: "uses descriptors that were left open",
    attempt: |t| {
        let name = text("secret.txt");
        Outcome::any(t.open.iter().map(|&fd| {
            let opened = call(libc::SYS_openat, &[fd as usize, name.at(), libc::O_RDONLY as usize])
                .map(sys::owned);
            Outcome::of("opened the secret", opened.map(|fd| fd.as_raw_fd()))
        }))
    },
    ..BASE
};
