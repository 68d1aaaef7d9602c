//! Finds credentials and doors of other programs in directories that the user grants, to hide
//! them from commands.
//!
//! A socket lets a command ask a program outside to act for it, and neither a read-only mount
//! nor a network namespace stops a connection by path. A named pipe in a read-only directory
//! can be written all the same.
//!
//! A stale socket, to which every connection is refused, is left alone: servers remove the file
//! when they start.

use std::collections::{HashSet, VecDeque};
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use zonekeep_policy::path::RelPath;
use zonekeep_policy::sensitive::Sensitive;

use crate::committed::is_committed;
use crate::plan::Access;

/// How many entries of a directory are looked at, those further up first.
const MAX_ENTRIES: usize = 50_000;

/// How much of a directory is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Every directory below, up to a number of entries.
    All,
    /// Its own entries, and those of directories that credentials are known to lie in: cheap
    /// enough to be repeated before each command.
    Top,
}

/// The entries of a granted directory that are hidden.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// Credentials: files and directories, no links, and no files whose content a repository
    /// below the granted directory has.
    pub credentials: Vec<RelPath>,
    /// Sockets of programs outside and, in a read-only directory, named pipes.
    pub doors: Vec<RelPath>,
}

/// Returns the entries below a directory of the host that are hidden from commands.
pub fn find(dir: &Path, access: Access, sensitive: &Sensitive, depth: Depth) -> Found {
    let (mut sockets, mut pipes) = (Vec::new(), Vec::new());
    let mut note = |kind: FileType, path: RelPath| match kind {
        FileType::Socket => sockets.push(path),
        FileType::Fifo if access == Access::Ro => pipes.push(path),
        _ => {}
    };
    let credentials = search(dir, sensitive, depth, &mut note);
    if !sockets.is_empty() {
        let bound = bound_names();
        // One that is listed is in use, and need not be bothered with a connection.
        let is_listed = |path: &RelPath| {
            let name = path.file_name().unwrap_or_default();
            bound.as_ref().is_none_or(|bound| bound.contains(name))
        };
        sockets.retain(|path| is_listed(path) || !is_stale(&on_host(dir, path)));
    }
    Found { credentials, doors: [sockets, pipes].concat() }
}

/// Returns whether no program listens on a socket: not under the name that it was bound to,
/// before it was renamed, and not in another network namespace.
fn is_stale(socket: &Path) -> bool {
    let refused = || {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::open(socket, flags, Mode::empty()).ok()?;
        // A path of any length.
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let address = SocketAddrUnix::new(path.as_str()).ok()?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let client = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
        Some(matches!(connect(&client, &address), Err(Errno::CONNREFUSED)))
    };
    refused().unwrap_or(false)
}

/// Returns the last names of the paths that sockets of this network namespace are bound to. A
/// program may have bound one by a relative path, so the whole path says no more.
fn bound_names() -> Option<HashSet<Vec<u8>>> {
    let table = std::fs::read("/proc/net/unix").ok()?;
    let names = table.split(|byte| *byte == b'\n').skip(1).filter_map(|line| {
        // Seven columns, and then the path where there is one.
        let path = (0..7).try_fold(line, |rest, _| {
            let column = rest.trim_ascii_start();
            let end = column.iter().position(u8::is_ascii_whitespace)?;
            Some(&column[end..])
        })?;
        path.get(1..)?.rsplit(|byte| *byte == b'/').next().map(<[u8]>::to_vec)
    });
    Some(names.collect())
}

fn search(
    dir: &Path,
    sensitive: &Sensitive,
    depth: Depth,
    note: &mut impl FnMut(FileType, RelPath),
) -> Vec<RelPath> {
    let mut found = Vec::new();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(root) = rustix::fs::open(dir, flags, Mode::empty()) else { return found };
    for path in sensitive.paths().iter().filter(|path| sensitive.hides(path)) {
        let stat = rustix::fs::statat(&root, path.as_bytes(), AtFlags::SYMLINK_NOFOLLOW);
        let kind = stat.map(|stat| FileType::from_raw_mode(stat.st_mode));
        if matches!(kind, Ok(FileType::RegularFile | FileType::Directory)) {
            found.push(path.clone());
        }
    }
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let mut buffer = vec![MaybeUninit::uninit(); 32 * 1024];
    let mut ahead = VecDeque::from([RelPath::root()]);
    let mut left = MAX_ENTRIES;
    while let Some(path) = ahead.pop_front() {
        let name = if path.is_root() { b"." } else { path.as_bytes() };
        let Ok(opened) = rustix::fs::openat2(&root, name, flags, Mode::empty(), resolve) else {
            continue;
        };
        let mut entries = RawDir::new(&opened, &mut buffer);
        while let Some(Ok(entry)) = entries.next() {
            let name = entry.file_name().to_bytes();
            let kind = match entry.file_type() {
                FileType::Unknown => rustix::fs::statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                kind => kind,
            };
            if name == b"." || name == b".." {
                continue;
            }
            let Some(fewer) = left.checked_sub(1) else { return found };
            left = fewer;
            let path = path.join(name);
            if matches!(kind, FileType::Socket | FileType::Fifo) && !sensitive.allows(&path) {
                note(kind, path);
                continue;
            }
            if !matches!(kind, FileType::Directory | FileType::RegularFile) {
                continue;
            }
            match sensitive.hides(&path) {
                true if found.contains(&path) => {}
                true if kind == FileType::RegularFile
                    && is_committed(dir, &on_host(dir, &path)) => {}
                true => found.push(path),
                false if kind != FileType::Directory => {}
                false if depth == Depth::All || sensitive.hides_in(&path) => ahead.push_back(path),
                false => {}
            }
        }
    }
    found
}

fn on_host(dir: &Path, path: &RelPath) -> PathBuf {
    dir.join(OsStr::from_bytes(path.as_bytes()))
}
