//! Opens a FIFO of the host for writing that is its standard input, and changes its
//! mode.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "stdio/fifo_reopen",
    what: "writes to the FIFO that is its standard input",
    given: |scene| {
        let path = scene.dir().join("outside/fifo");
        let _ = rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o600.into());
        // Both ways, so that nobody has to wait for the other side.
        Given::input(sys::open(&path, libc::O_RDWR | libc::O_NONBLOCK, 0).unwrap())
    },
    attempt: |_| {
        let path = fs::read_link("/proc/self/fd/0").unwrap_or_default();
        Outcome::any([
            Outcome::when("learned its path", path.is_absolute()),
            Outcome::when(
                "changed its mode",
                path.is_absolute() && call(libc::SYS_fchmod, &[0, 0o666]).is_ok(),
            ),
        ])
    },
    ..BASE
};
