//! Changes how its terminal handles lines, which has loaded modules and led to
//! holes before.

use super::BASE;
use crate::prelude::*;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

pub(super) const ATTACK: Attack = Attack {
    name: "terminal/discipline",
    what: "changes a terminal's line discipline",
    attempt: |_| {
        let opened = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).and_then(|master| {
            grantpt(&master)?;
            unlockpt(&master)?;
            let name = ptsname(&master, Vec::new())?;
            Ok((master, name.into_string().unwrap_or_default()))
        });
        let Ok((_master, name)) = opened else { return Outcome::Held("no terminal".into()) };
        let Ok(slave) = sys::open(name, libc::O_RDWR | libc::O_NOCTTY, 0) else {
            return Outcome::Held("no terminal".into());
        };
        let ordinary = 0_i32;
        Outcome::refused("changing the discipline", sys::ioctl(&slave, 0x5423, sys::at(&ordinary)))
    },
    ..BASE
};
