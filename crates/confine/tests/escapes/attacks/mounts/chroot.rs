//! Changes its root to a directory below while its working directory stays above,
//! and climbs: the old way out of a changed root.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "mounts/chroot",
    what: "climbs out of a root by changing it twice",
    attempt: |t| {
        let jail = t.rw.join("jail");
        let _ = fs::create_dir(&jail);
        if !t.confined && !sys::is_full_root() {
            let _ = sys::own_mounts(false);
        }
        let (jail, here) = (text(&jail), text("."));
        let changed = call(libc::SYS_chroot, &[jail.at()]).and_then(|_| {
            for _ in 0..64 {
                std::env::set_current_dir("..")?;
            }
            call(libc::SYS_chroot, &[here.at()])
        });
        Outcome::of("changed the root", changed)
    },
    ..BASE
};
