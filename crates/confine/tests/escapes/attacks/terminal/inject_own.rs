//! Types into a terminal of its own, in a session of its own: the call is closed
//! whichever terminal it is.

use super::BASE;
use crate::prelude::*;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

pub(super) const ATTACK: Attack = Attack {
    name: "terminal/inject_own",
    what: "types into its own terminal",
    attempt: |_| {
        Outcome::refused(
            "typing",
            sys::in_child(|| {
                sys::setsid();
                let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
                grantpt(&master)?;
                unlockpt(&master)?;
                let name = ptsname(&master, Vec::new())?.into_string().unwrap_or_default();
                let slave = sys::open(name, libc::O_RDWR, 0)?;
                sys::ioctl(&slave, 0x5412, sys::at(b"x")).map(|_| ())
            }),
        )
    },
    control: Control::Depends("the kernel types for nobody"),
    ..BASE
};
