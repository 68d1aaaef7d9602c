//! Mounts the read-only zone anew, without "read-only", and writes.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "mounts/remount",
    what: "remounts the read-only zone writable",
    attempt: |t| {
        let ro = text(&t.ro);
        let _ = sys::own_mounts(t.confined);
        let flags = (libc::MS_REMOUNT | libc::MS_BIND) as usize;
        let _ = call(libc::SYS_mount, &[0, ro.at(), 0, flags, 0]);
        Outcome::of("wrote to the read-only zone", fs::write(t.ro_file(), MARK))
    },
    ..BASE
};
