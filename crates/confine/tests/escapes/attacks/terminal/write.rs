//! Writes to the caller's terminal through `/dev/tty`: fake prompts, titles, the
//! clipboard.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "terminal/write",
    what: "writes to the caller's terminal",
    attempt: |_| {
        let _ = sys::open("/dev/tty", libc::O_RDWR | libc::O_NOCTTY, 0).map(|fd| {
            use std::io::Write;
            fs::File::from(fd).write_all(MARK.as_bytes())
        });
        Outcome::Tried
    },
    check: Scene::terminal_is_silent,
    ..BASE
};
