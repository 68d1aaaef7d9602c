//! Opens the secret by its file handle, which passes every directory on the way:
//! the call must be refused.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/file_handle",
    what: "opens a file outside by its handle",
    attempt: |t| {
        let Ok(mount) = fs::File::open(&t.rw) else { return Outcome::Held("no zone".into()) };
        let args = [mount.as_raw_fd() as usize, sys::at(&t.handle[..]), libc::O_RDONLY as usize];
        Outcome::refused("opening by handle", call(libc::SYS_open_by_handle_at, &args))
    },
    control: Control::NeedsRoot("only root may open by handle"),
    ..BASE
};
