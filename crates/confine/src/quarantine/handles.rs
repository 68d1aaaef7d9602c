//! Directories by handle: no step on the way down follows a link.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

use super::store::copy_data;

/// What every directory is opened with.
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a directory to read it.
pub(crate) fn open_dir(at: BorrowedFd<'_>, name: &[u8]) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(at, name, OFlags::RDONLY | OFlags::NONBLOCK | DIRECTORY, Mode::empty())
}

/// Opens a directory to go through it.
pub(crate) fn hold_dir(at: BorrowedFd<'_>, name: &[u8]) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(at, name, OFlags::PATH | DIRECTORY, Mode::empty())
}

/// Opens a file to read it; does not wait where it turns out to be something else.
pub(crate) fn open_file(at: BorrowedFd<'_>, name: &[u8]) -> rustix::io::Result<OwnedFd> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty())
}

/// Returns a path that leads to exactly what is open, wherever its name went.
pub(crate) fn path_of(fd: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

/// What a new file is to be like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Made {
    pub(crate) mode: u32,
    /// Whose it is to be, where that can be said.
    pub(crate) owner: Option<(u32, u32)>,
}

/// What a new file is to have in it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Content<'c> {
    Bytes(&'c [u8]),
    /// The same as a file, with its holes.
    Copy(&'c std::fs::File),
}

/// Puts a whole file at a name where nothing is. Where the file system can, it
/// appears at once with all that is in it; there is never another name.
pub(crate) fn put_file(
    dir: BorrowedFd<'_>,
    name: &[u8],
    made: Made,
    content: Content<'_>,
) -> io::Result<()> {
    let private = Mode::from_raw_mode(0o600);
    let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(dir, ".", flags, private) {
        Ok(file) => {
            let file = fill(file, made, content)?;
            let from = path_of(file.as_fd());
            return Ok(rustix::fs::linkat(CWD, from, dir, name, AtFlags::SYMLINK_FOLLOW)?);
        }
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            rustix::fs::openat(dir, name, flags, private)?
        }
        Err(errno) => return Err(errno.into()),
    };
    fill(file, made, content).map(drop)
}

fn fill(file: OwnedFd, made: Made, content: Content<'_>) -> io::Result<OwnedFd> {
    let mut file = std::fs::File::from(file);
    match content {
        Content::Bytes(bytes) => io::Write::write_all(&mut file, bytes)?,
        Content::Copy(from) => {
            copy_data(from, &file, u64::MAX)?;
        }
    }
    if let Some((uid, gid)) = made.owner {
        // Only the superuser can, and only there does it matter.
        let _ = rustix::fs::fchown(&file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
    }
    rustix::fs::fchmod(&file, Mode::from_raw_mode(made.mode & 0o777))?;
    Ok(file.into())
}
