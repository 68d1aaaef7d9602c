//! Connects to a socket of the host by its path outside.

use std::os::unix::net::UnixStream;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "ipc/path_connect",
    what: "connects to a socket outside",
    attempt: |t| Outcome::of("connected", UnixStream::connect(t.outside().join("stream.sock"))),
    held_by: OWN_TREE,
    ..BASE
};
