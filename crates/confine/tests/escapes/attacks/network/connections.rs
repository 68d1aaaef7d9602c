//! Looks for connections and listeners of the host.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/connections",
    what: "lists the host's connections",
    attempt: |t| {
        let port = format!(":{:04X} ", t.tcp);
        Outcome::when(
            "saw a listener of the host",
            fs::read_to_string("/proc/net/tcp").is_ok_and(|list| list.contains(&port)),
        )
    },
    held_by: OWN_TREE,
    ..BASE
};
