//! Makes netlink sockets of every kind but the one for routes.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/netlink_families",
    what: "makes other netlink sockets",
    attempt: |_| {
        Outcome::any((1..=24).map(|family| match sys::socket(16, libc::SOCK_RAW, family) {
            Ok(_) => Outcome::Broke(format!("made a netlink socket of kind {family}")),
            Err(error) => Outcome::Held(error.to_string()),
        }))
    },
    ..BASE
};
