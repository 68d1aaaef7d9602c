//! Makes a file, a directory, a link, a pipe and a socket in the read-only zone.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/ro_create",
    what: "makes things in a read-only zone",
    attempt: |t| {
        let fifo = text(t.ro.join("fifo"));
        Outcome::any([
            Outcome::of("made a file", fs::write(t.ro.join("new"), MARK)),
            Outcome::of("made a directory", fs::create_dir(t.ro.join("dir"))),
            Outcome::of("made a link", std::os::unix::fs::symlink("x", t.ro.join("link"))),
            Outcome::of(
                "made a pipe",
                call(
                    libc::SYS_mknodat,
                    &[sys::HERE, fifo.at(), (libc::S_IFIFO | 0o600) as usize, 0],
                ),
            ),
            Outcome::of(
                "made a socket",
                std::os::unix::net::UnixListener::bind(t.ro.join("socket")),
            ),
        ])
    },
    ..BASE
};
