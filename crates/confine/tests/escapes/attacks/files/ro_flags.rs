//! Sets a flag on the read-only file through a descriptor for reading.

use super::BASE;
use crate::prelude::*;
use crate::scene::{FS_IOC_GETFLAGS, FS_IOC_SETFLAGS};

pub(super) const ATTACK: Attack = Attack {
    name: "files/ro_flags",
    what: "sets a read-only file's flags",
    attempt: |t| {
        const NO_DUMP: u32 = 0x40;
        let Ok(file) = fs::File::open(t.ro_file()) else {
            return Outcome::Held("it cannot be read".into());
        };
        let mut flags = 0_u32;
        let got = sys::ioctl(&file, FS_IOC_GETFLAGS, sys::at_mut(&mut flags));
        flags |= NO_DUMP;
        Outcome::of(
            "set a flag",
            got.and_then(|_| sys::ioctl(&file, FS_IOC_SETFLAGS, sys::at(&flags))),
        )
    },
    control: Control::Depends("the file system has no such flags"),
    held_by: OWN_TREE,
    ..BASE
};
