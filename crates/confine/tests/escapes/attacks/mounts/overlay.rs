//! Lays the writable zone over the read-only one, so that it seems writable.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "mounts/overlay",
    what: "mounts an overlay",
    attempt: |t| {
        for name in ["upper", "work", "merged"] {
            let _ = fs::create_dir(t.rw.join(name));
        }
        let options = format!(
            "lowerdir={},upperdir={},workdir={}",
            t.ro.display(),
            t.rw.join("upper").display(),
            t.rw.join("work").display()
        );
        let (kind, to, options) = (text("overlay"), text(t.rw.join("merged")), text(options));
        let mounted = sys::own_mounts(t.confined).and_then(|()| {
            call(libc::SYS_mount, &[kind.at(), to.at(), kind.at(), 0, options.at()])
        });
        Outcome::of("mounted an overlay", mounted)
    },
    control: Control::Depends("the kernel has no overlays, or none for this user"),
    ..BASE
};
