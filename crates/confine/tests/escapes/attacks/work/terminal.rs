//! Makes a terminal of its own and works with it.

use std::io::{Read, Write};

use super::BASE;
use crate::prelude::*;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

pub(super) const ATTACK: Attack = Attack {
    name: "work/terminal",
    what: "makes a terminal",
    attempt: |_| {
        Outcome::ordinary(
            "a terminal",
            (|| -> io::Result<()> {
                let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
                grantpt(&master)?;
                unlockpt(&master)?;
                let name = ptsname(&master, Vec::new())?;
                let slave =
                    sys::open(name.to_str().unwrap_or_default(), libc::O_RDWR | libc::O_NOCTTY, 0)?;
                let mut master = fs::File::from(master);
                master.write_all(b"line\n")?;
                let mut bytes = [0; 5];
                fs::File::from(slave).read_exact(&mut bytes)
            })(),
        )
    },
    held_by: OWN_TREE,
    ..BASE
};
