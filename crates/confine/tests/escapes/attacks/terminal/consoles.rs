//! Opens the consoles of the machine.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "terminal/consoles",
    what: "opens the machine's consoles",
    attempt: |_| {
        Outcome::any(
            ["tty0", "tty1", "ttyS0", "vcs", "vcs1", "vcsa1", "ttyUSB0", "hvc0"]
                .map(|name| Outcome::of(name, sys::open_for_reading(Path::new("/dev").join(name)))),
        )
    },
    control: Control::NeedsRoot("only root may"),
    ..BASE
};
