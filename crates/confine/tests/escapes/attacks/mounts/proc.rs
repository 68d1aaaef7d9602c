//! Mounts a fresh `/proc`, without what covers parts of the one that is there.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "mounts/proc",
    what: "mounts a fresh /proc",
    attempt: |t| {
        let place = t.rw.join("proc");
        let _ = fs::create_dir(&place);
        let (kind, to) = (text("proc"), text(&place));
        let spaces = (libc::CLONE_NEWUSER | libc::CLONE_NEWPID | libc::CLONE_NEWNS) as usize;
        let mount = || call(libc::SYS_mount, &[kind.at(), to.at(), kind.at(), 0, 0]).map(|_| ());
        if !t.confined {
            let mounted = sys::own_mounts(false).and_then(|()| sys::in_child(mount));
            return Outcome::of("mounted /proc", mounted);
        }
        let _ = call(libc::SYS_unshare, &[spaces]);
        Outcome::of("mounted /proc", sys::in_child(mount))
    },
    control: Control::NeedsRoot("without privileges /proc needs a process namespace too"),
    ..BASE
};
