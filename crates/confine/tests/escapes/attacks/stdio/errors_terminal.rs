//! Uses the caller's terminal, which is its standard error: with that comes its
//! input, and a way to reprogram it.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "stdio/errors_terminal",
    what: "has the caller's terminal as its standard error",
    given: |scene| {
        let terminal = scene.target(None).terminal;
        Given::errors(sys::open(terminal, libc::O_RDWR | libc::O_NOCTTY, 0).unwrap())
    },
    attempt: |_| Outcome::of("it is a terminal", rustix::termios::tcgetattr(io::stderr())),
    ..BASE
};
