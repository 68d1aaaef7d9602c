//! Makes sockets of every other family: the ones that are needed are listed, all
//! others are refused, known or not.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/families",
    what: "makes sockets of unusual families",
    attempt: |_| {
        let unusual = (3..=60).filter(|family| ![10, 16].contains(family));
        Outcome::any(unusual.flat_map(|family| {
            [libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_SEQPACKET].map(
                |kind| match sys::socket(family, kind, 0) {
                    Err(error) if sys::is_refusal(&error) => Outcome::Held(error.to_string()),
                    Err(error) => {
                        Outcome::Broke(format!("family {family} was looked for: {error}"))
                    }
                    Ok(_) => Outcome::Broke(format!("family {family} is there")),
                },
            )
        }))
    },
    ..BASE
};
