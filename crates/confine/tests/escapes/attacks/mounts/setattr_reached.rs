//! Calls `mount_setattr` with nothing to change: it must be refused before that.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "mounts/setattr_reached",
    what: "calls mount_setattr for nothing",
    attempt: |t| {
        let (path, change) = (text(&t.rw), [0_u64; 4]);
        let _ = sys::own_mounts(t.confined);
        let made = call(libc::SYS_mount_setattr, &[sys::HERE, path.at(), 0, sys::at(&change), 32]);
        match made {
            // KERNEL(5.12): mount_setattr.
            Err(error) if !t.confined && error.raw_os_error() == Some(libc::ENOSYS) => {
                Outcome::Missing("mount_setattr".to_owned())
            }
            made => Outcome::refused("mount_setattr", made),
        }
    },
    ..BASE
};
