//! Connects to a socket outside through a link in the writable zone.

use std::os::unix::net::UnixStream;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "ipc/path_connect_link",
    what: "connects to a socket through a link",
    attempt: |t| {
        let link = t.rw.join("socket");
        let _ = std::os::unix::fs::symlink(t.outside().join("stream.sock"), &link);
        Outcome::of("connected", UnixStream::connect(link))
    },
    held_by: OWN_TREE,
    ..BASE
};
