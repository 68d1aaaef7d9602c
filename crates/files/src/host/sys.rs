//! The system calls that differ between systems, each with what stands in for it.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use zonekeep_policy::path::RelPath;

use crate::fault::Fault;
use crate::root::{Kind, Meta, Version};

/// What every descriptor is opened with.
const BASE: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW);

/// Opens a directory by one name, or `.`; never follows a link.
///
/// A directory that may be passed but not listed is opened all the same where
/// the system has a way to.
pub(super) fn open_dir(at: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = BASE | OFlags::DIRECTORY;
    match rustix::fs::openat(at, name, flags | OFlags::RDONLY, Mode::empty()) {
        Err(Errno::ACCESS) => linux::open_passable(at, name, flags),
        other => other,
    }
}

/// Opens a file by one name, without following it and without waiting.
///
/// What was opened may be anything but a link: the caller looks at it.
pub(super) fn open_file(at: BorrowedFd<'_>, name: &[u8], access: OFlags) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(at, name, file_flags(access), Mode::empty())
}

/// A pipe must not block, and a terminal must not become ours.
fn file_flags(access: OFlags) -> OFlags {
    BASE | OFlags::NONBLOCK | OFlags::NOCTTY | access
}

/// Opens a file beneath `root`; see [`open_file`]. Any link fails with `ELOOP`, because it
/// could lead to what is hidden.
pub(super) fn open_file_beneath(root: BorrowedFd<'_>, path: &RelPath) -> Result<OwnedFd, Errno> {
    linux::beneath(root, path.as_bytes(), file_flags(OFlags::RDONLY))
}

/// Opens a directory beneath `root`; any link fails with `ELOOP`.
pub(super) fn open_plain_dir_beneath(
    root: BorrowedFd<'_>,
    path: &RelPath,
) -> Result<OwnedFd, Errno> {
    // With NOFOLLOW a link at the end would look like a file.
    let flags = OFlags::CLOEXEC | OFlags::DIRECTORY;
    let open = |access| linux::beneath(root, path.as_bytes(), flags | access);
    match open(OFlags::RDONLY) {
        Err(Errno::ACCESS) => open(linux::PASS),
        other => other,
    }
}

/// Returns whether the kernel can look paths up beneath a handle.
pub(super) fn can_look_up(root: BorrowedFd<'_>) -> bool {
    linux::beneath(root, b".", BASE | OFlags::DIRECTORY | linux::PASS).is_ok()
}

pub(super) use linux::{copy_range, each_entry, make_unnamed, name_unnamed, path_of, rename_new};

/// Looks at a name, not at what a link leads to.
pub(super) fn stat(at: BorrowedFd<'_>, name: &[u8]) -> Result<Meta, Errno> {
    rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| meta(&stat))
}

/// Looks at what is open.
pub(super) fn fstat(fd: impl AsFd) -> Result<Meta, Errno> {
    rustix::fs::fstat(fd).map(|stat| meta(&stat))
}

pub(super) fn kind(file_type: FileType) -> Kind {
    match file_type {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Dir,
        FileType::Symlink => Kind::Link,
        _ => Kind::Special,
    }
}

#[allow(
    clippy::unnecessary_cast,
    clippy::useless_conversion,
    reason = "the fields' types differ by system"
)]
fn meta(stat: &Stat) -> Meta {
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    let modified = (stat.st_mtime as i64, stat.st_mtime_nsec as i64);
    Meta {
        kind: kind(FileType::from_raw_mode(stat.st_mode)),
        size,
        mode: u32::from(stat.st_mode) & 0o7777,
        modified: time(modified),
        links: stat.st_nlink as u64,
        owner: Some((stat.st_uid, stat.st_gid)),
        version: Version {
            device: stat.st_dev as u64,
            node: stat.st_ino as u64,
            size,
            modified,
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        },
    }
}

fn time((seconds, nanos): (i64, i64)) -> SystemTime {
    let nanos = Duration::from_nanos(u64::try_from(nanos).unwrap_or(0));
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let base = if seconds < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(whole)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(whole)
    };
    base.and_then(|time| time.checked_add(nanos)).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Calls `each` with a name of a listing, leaving out `.` and `..`.
fn pass_entry(
    at: BorrowedFd<'_>,
    name: &[u8],
    file_type: FileType,
    each: &mut dyn FnMut(&[u8], Kind) -> ControlFlow<()>,
) -> ControlFlow<()> {
    if name == b"." || name == b".." {
        return ControlFlow::Continue(());
    }
    let kind = match file_type {
        // Some file systems do not say; then the name itself has to be asked.
        FileType::Unknown => match stat(at, name) {
            Ok(meta) => meta.kind,
            Err(_) => return ControlFlow::Continue(()),
        },
        known => kind(known),
    };
    each(name, kind)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::cell::Cell;
    use std::ffi::OsString;
    use std::mem::MaybeUninit;
    use std::os::unix::ffi::OsStringExt;
    use std::path::PathBuf;

    use rustix::fs::{CWD, RawDir, RenameFlags, ResolveFlags};

    use super::*;

    /// Opens a directory only to pass through it.
    pub(super) const PASS: OFlags = OFlags::PATH;
    /// How often a lookup that raced with a rename is tried again.
    const ATTEMPTS: usize = 32;
    /// How much of a listing is asked for at once.
    const LISTING: usize = 64 * 1024;

    pub(super) fn open_passable(
        at: BorrowedFd<'_>,
        name: &[u8],
        flags: OFlags,
    ) -> Result<OwnedFd, Errno> {
        rustix::fs::openat(at, name, flags | PASS, Mode::empty())
    }

    // KERNEL(5.6): openat2; the caller walks where it is missing, or where there are links.
    pub(super) fn beneath(
        root: BorrowedFd<'_>,
        path: &[u8],
        flags: OFlags,
    ) -> Result<OwnedFd, Errno> {
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
        let path = if path.is_empty() { b"." } else { path };
        let mut outcome = Err(Errno::AGAIN);
        for _ in 0..ATTEMPTS {
            outcome = rustix::fs::openat2(root, path, flags, Mode::empty(), resolve);
            if !matches!(outcome, Err(Errno::AGAIN | Errno::INTR)) {
                break;
            }
        }
        outcome
    }

    /// Makes a file that has no name yet, and vanishes unless it gets one.
    pub(in super::super) fn make_unnamed(dir: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        rustix::fs::openat(dir, c".", flags, Mode::from_raw_mode(0o666))
    }

    /// Gives such a file a name that nothing has.
    pub(in super::super) fn name_unnamed(
        fd: BorrowedFd<'_>,
        dir: BorrowedFd<'_>,
        name: &[u8],
    ) -> Result<(), Errno> {
        rustix::fs::linkat(CWD, link_to(fd), dir, name, AtFlags::SYMLINK_FOLLOW)
    }

    fn link_to(fd: BorrowedFd<'_>) -> String {
        use std::os::fd::AsRawFd;
        format!("/proc/self/fd/{}", fd.as_raw_fd())
    }

    /// Renames unless the new name is taken.
    pub(in super::super) fn rename_new(
        from: BorrowedFd<'_>,
        name: &[u8],
        to: BorrowedFd<'_>,
        to_name: &[u8],
    ) -> Result<(), Errno> {
        rustix::fs::renameat_with(from, name, to, to_name, RenameFlags::NOREPLACE)
    }

    /// Copies at most `length` bytes between files without passing them through here.
    pub(in super::super) fn copy_range(
        from: BorrowedFd<'_>,
        offset: u64,
        to: BorrowedFd<'_>,
        length: usize,
    ) -> Result<usize, Errno> {
        let mut offset = offset;
        rustix::fs::copy_file_range(from, Some(&mut offset), to, None, length)
    }

    /// Returns the path that an open directory has now.
    pub(in super::super) fn path_of(fd: BorrowedFd<'_>) -> io::Result<PathBuf> {
        let path = rustix::fs::readlinkat(CWD, link_to(fd), Vec::new())?;
        Ok(PathBuf::from(OsString::from_vec(path.into_bytes())))
    }

    /// Calls `each` for the entries from where the descriptor stands.
    pub(in super::super) fn each_entry(
        fd: BorrowedFd<'_>,
        each: &mut dyn FnMut(&[u8], Kind) -> ControlFlow<()>,
    ) -> Result<(), Fault> {
        thread_local! {
            static SPARE: Cell<Vec<MaybeUninit<u8>>> = const { Cell::new(Vec::new()) };
        }
        // Taken, not borrowed: `each` may list another directory.
        let mut buffer = SPARE.take();
        buffer.resize(LISTING, MaybeUninit::uninit());
        let mut entries = RawDir::new(fd, &mut buffer);
        let mut outcome = Ok(());
        while let Some(entry) = entries.next() {
            match entry {
                Ok(entry) => {
                    let name = entry.file_name().to_bytes();
                    if pass_entry(fd, name, entry.file_type(), each).is_break() {
                        break;
                    }
                }
                Err(Errno::INTR) => {}
                // The directory was removed while it was open: it is empty.
                Err(Errno::NOENT) => break,
                Err(errno) => {
                    outcome = Err(errno.into());
                    break;
                }
            }
        }
        SPARE.set(buffer);
        outcome
    }
}

#[cfg(not(target_os = "linux"))]
use other as linux;

#[cfg(not(target_os = "linux"))]
mod other {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    use std::path::PathBuf;

    use super::*;

    pub(super) const PASS: OFlags = OFlags::RDONLY;

    pub(super) fn open_passable(
        _at: BorrowedFd<'_>,
        _name: &[u8],
        _flags: OFlags,
    ) -> Result<OwnedFd, Errno> {
        Err(Errno::ACCESS)
    }

    pub(super) fn beneath(
        _root: BorrowedFd<'_>,
        _path: &[u8],
        _flags: OFlags,
    ) -> Result<OwnedFd, Errno> {
        Err(Errno::NOSYS)
    }

    pub(in super::super) fn make_unnamed(_dir: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
        Err(Errno::OPNOTSUPP)
    }

    pub(in super::super) fn name_unnamed(
        _fd: BorrowedFd<'_>,
        _dir: BorrowedFd<'_>,
        _name: &[u8],
    ) -> Result<(), Errno> {
        Err(Errno::OPNOTSUPP)
    }

    #[cfg(target_vendor = "apple")]
    pub(in super::super) fn rename_new(
        from: BorrowedFd<'_>,
        name: &[u8],
        to: BorrowedFd<'_>,
        to_name: &[u8],
    ) -> Result<(), Errno> {
        rustix::fs::renameat_with(from, name, to, to_name, rustix::fs::RenameFlags::NOREPLACE)
    }

    #[cfg(not(target_vendor = "apple"))]
    pub(in super::super) fn rename_new(
        _from: BorrowedFd<'_>,
        _name: &[u8],
        _to: BorrowedFd<'_>,
        _to_name: &[u8],
    ) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    pub(in super::super) fn copy_range(
        _from: BorrowedFd<'_>,
        _offset: u64,
        _to: BorrowedFd<'_>,
        _length: usize,
    ) -> Result<usize, Errno> {
        Err(Errno::NOSYS)
    }

    #[cfg(target_vendor = "apple")]
    pub(in super::super) fn path_of(fd: BorrowedFd<'_>) -> io::Result<PathBuf> {
        let path = rustix::fs::getpath(fd)?;
        Ok(PathBuf::from(OsString::from_vec(path.into_bytes())))
    }

    #[cfg(not(target_vendor = "apple"))]
    pub(in super::super) fn path_of(_fd: BorrowedFd<'_>) -> io::Result<PathBuf> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in super::super) fn each_entry(
        fd: BorrowedFd<'_>,
        each: &mut dyn FnMut(&[u8], Kind) -> ControlFlow<()>,
    ) -> Result<(), Fault> {
        let mut entries = rustix::fs::Dir::read_from(fd)?;
        while let Some(entry) = entries.read() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if pass_entry(fd, name, entry.file_type(), each).is_break() {
                break;
            }
        }
        Ok(())
    }
}
