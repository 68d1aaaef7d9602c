//! Makes raw sockets, which forge any packet.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/raw",
    what: "makes a raw socket",
    attempt: |_| {
        Outcome::any([1, 6, 17, 255].map(|protocol| {
            Outcome::of("made a raw socket", sys::socket(2, libc::SOCK_RAW, protocol))
        }))
    },
    control: Control::NeedsRoot("only root may"),
    ..BASE
};
