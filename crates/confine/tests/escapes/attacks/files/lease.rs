//! Takes a lease on the secret, which would hold up whoever opens it on the host.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/lease",
    what: "takes a lease on a file outside",
    attempt: |t| {
        const SET_LEASE: usize = 1024;
        let Ok(file) = sys::open(t.secret(), libc::O_RDONLY, 0) else {
            return Outcome::Held("it cannot be read".into());
        };
        Outcome::of(
            "took a lease",
            call(libc::SYS_fcntl, &[file.as_raw_fd() as usize, SET_LEASE, libc::F_RDLCK as usize]),
        )
    },
    control: Control::Depends("somebody writes to the file just now"),
    ..BASE
};
