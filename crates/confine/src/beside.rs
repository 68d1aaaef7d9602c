//! Finds what commands leave beside granted directories: a directory above one that is
//! granted at its own path is private, and ends with the sandbox.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, Mode, OFlags, ResolveFlags};

use crate::plan::{Entry, Plan};

/// How many entries of a directory are looked at.
const MAX_ENTRIES: usize = 1000;

/// Returns the entries; `private` are directories of the sandbox with their paths, of which
/// the first that holds a path counts.
pub(crate) fn left(plan: &Plan, private: &[(&Path, BorrowedFd<'_>)]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for dir in dirs_above(plan) {
        let Some((at, handle)) = private.iter().find(|(at, _)| dir.starts_with(at)) else {
            continue;
        };
        let below = dir.strip_prefix(at).unwrap_or(Path::new(""));
        let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        // Commands may have put anything in the way.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        let opened = rustix::fs::openat2(handle, below, flags, Mode::empty(), resolve);
        let Ok(entries) = opened.and_then(Dir::new) else { continue };
        let names = entries.take(MAX_ENTRIES).flatten();
        let names = names.map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned());
        let visible = names.filter(|name| !name.as_bytes().starts_with(b"."));
        found.extend(visible.map(|name| dir.join(name)).filter(|path| !is_placed(plan, path)));
    }
    found.sort();
    found
}

/// Returns the directories above those that are granted at their own paths and granted
/// themselves by nothing. `/tmp` is left out: files are left there on purpose.
fn dirs_above(plan: &Plan) -> BTreeSet<&Path> {
    let own = plan.zones().filter(|zone| zone.at == zone.host);
    let dirs = own.flat_map(|zone| zone.at.ancestors().skip(1));
    let dirs = dirs.filter(|dir| *dir != Path::new("/tmp"));
    dirs.filter(|dir| !plan.binds().any(|bind| dir.starts_with(&bind.at))).collect()
}

/// Returns whether a path leads to what was placed in the tree.
fn is_placed(plan: &Plan, path: &Path) -> bool {
    let mut placed = plan.entries.iter().map(Entry::at).chain([plan.home.as_path()]);
    placed.any(|at| at.starts_with(path))
}
