//! Finds credentials in directories that the user grants, to hide them from commands.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags};
use zonekeep_policy::path::RelPath;
use zonekeep_policy::sensitive::Sensitive;

use crate::committed::is_committed;

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

/// Returns the hidden files and directories that exist below a directory of the host; no
/// links, and no files whose content a repository below the directory has.
pub fn find(dir: &Path, sensitive: &Sensitive, depth: Depth) -> Vec<RelPath> {
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
            if !matches!(kind, FileType::Directory | FileType::RegularFile) {
                continue;
            }
            let path = path.join(name);
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
