//! Mounts the control groups anew, which would bring all files back.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "system/cgroup_mount",
    what: "mounts the control groups",
    attempt: |t| {
        let place = t.rw.join("groups");
        let _ = fs::create_dir(&place);
        let (kind, to) = (text("cgroup2"), text(&place));
        let mounted = sys::own_mounts(t.confined)
            .and_then(|()| call(libc::SYS_mount, &[kind.at(), to.at(), kind.at(), 0, 0]));
        Outcome::of("mounted the control groups", mounted)
    },
    control: Control::NeedsRoot("only root of the host's namespace mounts them"),
    ..BASE
};
