//! Connects to a socket outside through the root of another process.

use std::os::unix::net::UnixStream;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "ipc/path_connect_root",
    what: "connects to a socket through /proc",
    attempt: |t| {
        let below = t.in_tmp(".sock");
        let below = below.strip_prefix("/").unwrap();
        Outcome::any(t.others().into_iter().map(|pid| {
            Outcome::of(
                "connected",
                UnixStream::connect(
                    Path::new("/proc").join(pid.to_string()).join("root").join(below),
                ),
            )
        }))
    },
    held_by: OWN_TREE,
    ..BASE
};
