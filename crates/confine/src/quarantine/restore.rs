//! Puts an entry back to where it was.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use zonekeep_policy::path::{is_plain_name, unescape};

use super::handles::{Content, Made, hold_dir, put_file};
use super::{Approved, Entry, Item, Kind, drop, open, read};

/// Why something was not restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// There is no such entry.
    #[error("there is no entry '{id}' in the quarantine: {source}")]
    NoEntry {
        /// The name that was asked for.
        id: String,
        /// What the system said.
        source: io::Error,
    },
    /// Something is at the path already.
    #[error("'{}' is there already", path.display())]
    Occupied {
        /// The host path.
        path: PathBuf,
    },
    /// A link or a file lies on the way.
    #[error("the way to '{}' leads over a link or a file", path.display())]
    Crooked {
        /// The host path.
        path: PathBuf,
    },
    /// Nothing that could be put back was kept.
    #[error("nothing of '{}' was kept that could be put back", path.display())]
    NotKept {
        /// The host path.
        path: PathBuf,
    },
    /// Only a part of it was kept.
    #[error("only a part of '{}' was kept: {what}", path.display())]
    Incomplete {
        /// The host path.
        path: PathBuf,
        /// Which part, in words.
        what: String,
    },
    /// A system call failed.
    #[error("'{}' cannot be put back: {source}", path.display())]
    System {
        /// The host path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What to do with an entry of which only a part was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Incomplete {
    /// To leave it in the quarantine.
    #[default]
    Refuse,
    /// To put the part back, and keep the entry.
    Restore,
}

/// What to do where something is at the path already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Present {
    /// To leave it.
    #[default]
    Keep,
    /// To put a file or link in its place, unless it is a directory.
    Replace,
}

/// The largest file whose content is told to keepers: they compare no larger one.
const MAX_TOLD: u64 = 1024 * 1024;

/// Puts what was caught back to where it was and removes the entry, if all of it was
/// kept; returns the host path. Nothing is replaced, and no link is followed.
pub fn restore(dir: &Path, id: &str, incomplete: Incomplete) -> Result<PathBuf, RestoreError> {
    restore_over(dir, id, incomplete, Present::Keep)
}

/// Does the same, and replaces what is there where that is wanted.
pub fn restore_over(
    dir: &Path,
    id: &str,
    incomplete: Incomplete,
    present: Present,
) -> Result<PathBuf, RestoreError> {
    let entry =
        read(dir, id).map_err(|source| RestoreError::NoEntry { id: id.to_owned(), source })?;
    let path = entry.host_path();
    let told = |source: io::Error| match Errno::from_io_error(&source) {
        Some(Errno::EXIST) => RestoreError::Occupied { path: path.clone() },
        Some(Errno::LOOP | Errno::NOTDIR) => RestoreError::Crooked { path: path.clone() },
        _ => RestoreError::System { path: path.clone(), source },
    };
    let restorable = |item: &Item| match item.kind {
        Kind::File => item.content.is_some(),
        Kind::Link => item.link.is_some(),
        Kind::Directory => true,
        Kind::Special => false,
    };
    if entry.kind != Kind::Directory && !entry.items.iter().any(restorable) {
        return Err(RestoreError::NotKept { path });
    }
    let missing = missing(&entry);
    if let (Some(what), Incomplete::Refuse) = (&missing, incomplete) {
        return Err(RestoreError::Incomplete { path, what: what.clone() });
    }
    put_back(dir, &entry, present, restorable).map_err(told)?;
    if missing.is_none() {
        // It is back; an entry that stays behind can be restored to no effect.
        let _ = drop(dir, id);
    }
    Ok(path)
}

/// Returns what was not kept of an entry, in words.
fn missing(entry: &Entry) -> Option<String> {
    if let Some(item) = entry.items.iter().find(|item| item.truncated) {
        let name = if item.path.is_empty() { String::new() } else { format!(" of {}", item.path) };
        return Some(format!("the first {} bytes{name}", item.size));
    }
    let lost = |item: &&Item| item.kind == Kind::File && item.content.is_none();
    let more = entry.left_out + entry.items.iter().filter(lost).count() as u64;
    (more > 0).then(|| format!("{more} of its files are missing"))
}

fn put_back(
    dir: &Path,
    entry: &Entry,
    present: Present,
    restorable: impl Fn(&Item) -> bool,
) -> io::Result<()> {
    let zone = open_zone(&unescape(&entry.zone))?;
    let host = entry.host_path();
    // A keeper that is not told moves it away again, which is safe.
    let _ = tell(dir, entry, host.as_os_str().as_bytes());
    let (parent, name) = parent_of(zone.as_fd(), &entry.path, 0o755)?;
    let top = match entry.kind {
        Kind::Directory => {
            let mode = entry.items.iter().find(|item| item.path.is_empty());
            let mode = mode.map_or(0o755, |item| item.mode);
            rustix::fs::mkdirat(
                &parent,
                name.as_slice(),
                Mode::from_raw_mode(mode & 0o777 | 0o700),
            )?;
            Some(hold_dir(parent.as_fd(), &name)?)
        }
        _ => None,
    };
    for item in entry.items.iter().filter(|item| restorable(item)) {
        let (parent, name) = match (&top, item.path.is_empty()) {
            (Some(_), true) => continue,
            (Some(top), false) => parent_of(top.as_fd(), &item.path, 0o755)?,
            (None, true) => (parent.try_clone()?, name.clone()),
            (None, false) => continue,
        };
        let parent = parent.as_fd();
        match (present, entry.kind) {
            (Present::Replace, Kind::File | Kind::Link) => {
                // Under a name of ours first, so that it is replaced at once.
                let fresh = format!(".zonekeep-{}", entry.id);
                put_item(dir, entry, item, parent, fresh.as_bytes())?;
                if let Err(errno) = rustix::fs::renameat(parent, &fresh, parent, &name[..]) {
                    let _ = rustix::fs::unlinkat(parent, &fresh, AtFlags::empty());
                    return Err(errno.into());
                }
            }
            _ => put_item(dir, entry, item, parent, &name)?,
        }
    }
    Ok(())
}

/// Tells the keepers of commands that run what is put back.
fn tell(dir: &Path, entry: &Entry, host: &[u8]) -> io::Result<()> {
    for item in &entry.items {
        let below = unescape(&item.path);
        let path = match below.is_empty() {
            true => host.to_vec(),
            false => [host, b"/", &below[..]].concat(),
        };
        // Where something is replaced, it has a name of ours first.
        let above = path.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
        let fresh = [&path[..above], b".zonekeep-", entry.id.as_bytes()].concat();
        let mut content = Vec::new();
        let approved = match (item.kind, &item.link) {
            (Kind::Directory, _) => Approved::Directory,
            (Kind::File, _) if item.size <= MAX_TOLD => {
                open(dir, &entry.id, item)?.take(MAX_TOLD).read_to_end(&mut content)?;
                Approved::File(&content)
            }
            (Kind::Link, Some(link)) => {
                content.extend_from_slice(unescape(link).as_ref());
                Approved::Link(&content)
            }
            _ => continue,
        };
        for path in [&path, &fresh] {
            approved.note(dir, path)?;
        }
    }
    Ok(())
}

/// Opens a zone. There was no link on the way when something was caught in it; one
/// that is there now was put there.
fn open_zone(path: &[u8]) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut dir = rustix::fs::openat(CWD, "/", flags, Mode::empty())?;
    for name in path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
        dir = hold_dir(dir.as_fd(), name)?;
    }
    Ok(dir)
}

fn put_item(
    dir: &Path,
    entry: &Entry,
    item: &Item,
    parent: BorrowedFd<'_>,
    name: &[u8],
) -> io::Result<()> {
    match (item.kind, &item.link) {
        (Kind::File, _) => {
            let content = open(dir, &entry.id, item)?;
            put_file(parent, name, Made { mode: item.mode, owner: None }, Content::Copy(&content))
        }
        (Kind::Link, Some(link)) => {
            Ok(rustix::fs::symlinkat(unescape(link).as_ref(), parent, name)?)
        }
        (Kind::Directory, _) => {
            let mode = Mode::from_raw_mode(item.mode & 0o777 | 0o700);
            Ok(rustix::fs::mkdirat(parent, name, mode)?)
        }
        _ => Ok(()),
    }
}

/// Opens the directory that a path lies in, and makes what is missing on the way.
fn parent_of(top: BorrowedFd<'_>, path: &str, mode: u32) -> io::Result<(OwnedFd, Vec<u8>)> {
    let path = unescape(path);
    let mut names: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
    let name = names.pop().filter(|name| is_plain_name(name));
    let name = name.ok_or(io::ErrorKind::InvalidData)?;
    let mut dir = top.try_clone_to_owned()?;
    for step in names {
        if !is_plain_name(step) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        dir = match hold_dir(dir.as_fd(), step) {
            Err(Errno::NOENT) => match rustix::fs::mkdirat(&dir, step, Mode::from_raw_mode(mode)) {
                Ok(()) | Err(Errno::EXIST) => hold_dir(dir.as_fd(), step)?,
                Err(errno) => return Err(errno.into()),
            },
            result => result?,
        };
    }
    Ok((dir, name.to_vec()))
}
