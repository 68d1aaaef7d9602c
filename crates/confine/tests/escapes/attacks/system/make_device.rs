//! Makes device files of its own, in the zone and in `/tmp` and `/dev`, and opens
//! them: a node for the empty device stands for any.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "system/make_device",
    what: "makes a device file and opens it",
    attempt: |t| {
        let null = rustix::fs::makedev(1, 3) as usize;
        Outcome::any([t.rw.join("null"), t.in_tmp(".null"), "/dev/zk-null".into()].map(|path| {
            if !t.confined && !path.starts_with(&t.rw) {
                return Outcome::Held("only in the scratch directory".into());
            }
            let name = text(&path);
            let made = call(
                libc::SYS_mknodat,
                &[sys::HERE, name.at(), (libc::S_IFCHR | 0o666) as usize, null],
            );
            Outcome::of("made a device", made.and_then(|_| sys::open_for_reading(&path)))
        }))
    },
    control: Control::NeedsRoot("only root makes devices"),
    ..BASE
};
