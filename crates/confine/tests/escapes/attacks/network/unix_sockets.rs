//! Looks for the names of the host's Unix sockets.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/unix_sockets",
    what: "lists the host's Unix sockets",
    attempt: |t| {
        Outcome::when(
            "saw a socket of the host",
            fs::read_to_string("/proc/net/unix").is_ok_and(|list| list.contains(&t.token)),
        )
    },
    held_by: OWN_TREE,
    ..BASE
};
