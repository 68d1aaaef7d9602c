//! How much of the kernel's watches for files commands may use.
//!
//! The kernel counts inotify instances and watches for each user, and guards need them.
//! A command that takes all would disarm the guards of the user's other sandboxes, so
//! each sandbox gets a part, counted in its user namespace.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::{Trouble, Try, attempt};
use crate::sys::{self, Side};

/// The part of the user's own number that one sandbox may use.
const PART: u64 = 8;

/// The limit of a user namespace, and the number of the user that it is a part of.
const LIMITS: [(&str, &str); 2] = [
    ("sys/user/max_inotify_instances", "sys/fs/inotify/max_user_instances"),
    ("sys/user/max_inotify_watches", "sys/fs/inotify/max_user_watches"),
];

/// Limits what all processes of this process's user namespace may use together. A kernel
/// without inotify has nothing to limit.
pub(super) fn limit(proc: BorrowedFd<'_>) -> io::Result<()> {
    let open = |path: &str, flags| rustix::fs::openat(proc, path, flags, Mode::empty());
    for (limit, whole) in LIMITS {
        let mut text = String::new();
        match open(whole, OFlags::RDONLY | OFlags::CLOEXEC) {
            Err(Errno::NOENT) => continue,
            opened => File::from(opened?).read_to_string(&mut text)?,
        };
        let whole: u64 = text.trim().parse().unwrap_or(0);
        let mut file = File::from(open(limit, OFlags::WRONLY | OFlags::CLOEXEC)?);
        file.write_all((whole / PART).max(1).to_string().as_bytes())?;
    }
    Ok(())
}

/// Does the same for the user namespace of another process, the first one of a tree that
/// another program made: its owner has the right to, from outside.
pub(crate) fn limit_inside(first: Pid) -> Result<(), Trouble> {
    let what = || "limit watches for files".to_owned();
    let space = File::open(format!("/proc/{}/ns/user", first.as_raw_nonzero())).during(what)?;
    let proc = File::open("/proc").during(what)?;
    // Whoever enters does not come back.
    match attempt(what, sys::fork)? {
        Side::Child => {
            let entered = move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::User));
            let done = entered.map_err(io::Error::from).and_then(|()| limit(proc.as_fd()));
            sys::exit(done.err().map_or(0, |error| error.raw_os_error().unwrap_or(1)))
        }
        Side::Parent(pid) => {
            let wait = || rustix::process::waitpid(Some(pid), WaitOptions::empty());
            let ended = rustix::io::retry_on_intr(wait).during(what)?;
            match ended.and_then(|(_, status)| status.exit_status()) {
                Some(0) => Ok(()),
                Some(errno) => Err(Trouble::new(what(), io::Error::from_raw_os_error(errno))),
                None => Err(Trouble::new(what(), io::ErrorKind::UnexpectedEof.into())),
            }
        }
    }
}
