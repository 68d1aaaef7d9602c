//! Opens the read-only file for reading and opens the descriptor again for
//! writing, through `/proc`.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/ro_reopen",
    what: "reopens a read-only descriptor for writing",
    attempt: |t| {
        let Ok(file) = fs::File::open(t.ro_file()) else {
            return Outcome::Held("it cannot be read".into());
        };
        let again = format!("/proc/self/fd/{}", file.as_raw_fd());
        let place = sys::open(t.ro_file(), libc::O_PATH, 0)
            .map(|fd| (format!("/proc/self/fd/{}", fd.as_raw_fd()), fd));
        Outcome::any([
            Outcome::of("opened it again", sys::open_for_writing(again)),
            Outcome::of(
                "opened the place",
                place.and_then(|(path, _fd)| sys::open_for_writing(path)),
            ),
        ])
    },
    ..BASE
};
