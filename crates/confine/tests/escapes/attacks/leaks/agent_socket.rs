//! Looks for the address of the caller's key agent, and connects to it.

use std::os::unix::net::UnixStream;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "leaks/agent_socket",
    what: "finds the key agent",
    attempt: |t| {
        let told = std::env::var_os("SSH_AUTH_SOCK");
        let connected = UnixStream::connect(
            told.clone().unwrap_or_else(|| t.outside().join("stream.sock").into()),
        );
        Outcome::any([
            Outcome::when("knows the address", told.is_some()),
            Outcome::of("connected", connected),
        ])
    },
    held_by: OWN_TREE,
    ..BASE
};
