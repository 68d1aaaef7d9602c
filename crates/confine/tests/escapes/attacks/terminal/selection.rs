//! Pastes a selection of the console into its input.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "terminal/selection",
    what: "pastes into a console",
    attempt: |_| {
        // A request that does nothing, so that only whether it arrives counts.
        let request = [255_u8; 4];
        Outcome::refused(
            "the console's request",
            sys::ioctl(&io::stdin(), 0x541c, sys::at(&request)),
        )
    },
    ..BASE
};
