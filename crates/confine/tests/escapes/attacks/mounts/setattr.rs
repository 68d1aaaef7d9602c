//! Clears "read-only" with `mount_setattr`, which works on whole trees.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "mounts/setattr",
    what: "clears a mount's attributes",
    attempt: |t| {
        let ro = text(&t.ro);
        let _ = sys::own_mounts(t.confined);
        // Attributes to set and to clear, propagation, user namespace.
        let change = [0_u64, 1, 0, 0];
        let _ = call(
            libc::SYS_mount_setattr,
            &[sys::HERE, ro.at(), libc::AT_RECURSIVE as usize, sys::at(&change), 32],
        );
        Outcome::of("wrote to the read-only zone", fs::write(t.ro_file(), MARK))
    },
    ..BASE
};
