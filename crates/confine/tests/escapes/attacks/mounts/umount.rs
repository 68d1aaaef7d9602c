//! Takes mounts away to see what they cover: each one that is there.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "mounts/umount",
    what: "takes mounts away",
    attempt: |t| {
        let _ = sys::own_mounts(t.confined);
        if !t.confined {
            let (kind, to) = (text("tmpfs"), text(&t.rw));
            let _ = call(libc::SYS_mount, &[kind.at(), to.at(), kind.at(), 0, 0]);
            return Outcome::of(
                "took a mount away",
                call(libc::SYS_umount2, &[to.at(), libc::MNT_DETACH as usize]),
            );
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        Outcome::any(mounts.lines().filter_map(|line| line.split(' ').nth(4)).rev().map(|path| {
            let path = text(path);
            Outcome::of(
                "took a mount away",
                call(libc::SYS_umount2, &[path.at(), libc::MNT_DETACH as usize]),
            )
        }))
    },
    held_by: OWN_TREE,
    ..BASE
};
