//! Connects to a socket in the host's `/tmp`, where many programs put theirs.

use std::os::unix::net::UnixStream;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "ipc/path_connect_tmp",
    what: "connects to a socket in /tmp",
    attempt: |t| Outcome::of("connected", UnixStream::connect(t.in_tmp(".sock"))),
    held_by: OWN_TREE,
    ..BASE
};
