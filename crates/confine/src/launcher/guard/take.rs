//! Takes entries away.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, SeekFrom, Stat};
use rustix::io::Errno;

use zonekeep_policy::path::RelPath;

use super::before::{Identity, Is, Kept, What};
use super::descent::Descent;
use super::held::{Part, Ticket};
use super::judge::{Spot, Ward};
use super::keys::Keys;
use super::{Guard, MAX_PATH, PATIENCE};
use crate::quarantine::Kind;
use crate::quarantine::handles::{Content, Made, open_file, path_of, put_file};

/// How often a directory is listed until nothing is in it.
const MAX_ROUNDS: u32 = 32;

impl Guard {
    /// Takes a file, a link or the like away, and puts back what was there
    /// before.
    pub(super) fn catch(
        &mut self,
        spot: &Spot<'_>,
        stat: &Stat,
        ward: &Ward,
        id: Option<Identity>,
    ) {
        let part = match take(&mut self.keys, spot.dir, spot.name, stat) {
            Ok(part) => part,
            Err(Errno::NOENT) => return,
            Err(errno) => return self.failed(spot, ward, errno),
        };
        let ticket = self.held.catch(spot.zone, spot.path, &ward.pattern, ward.fate());
        self.held.take(ticket, b"", part);
        let Some(kept) = self.before.find(spot.zone, spot.path, id) else { return };
        let put = put_back(spot.dir, spot.name, kept);
        self.was_put_back(ticket, put);
    }

    /// Puts back a file that was removed, in directories that are made again.
    pub(super) fn bring_back(&mut self, zone: usize, path: &RelPath, ward: &Ward, kept: &Kept) {
        let Some(root) = self.zones.get(zone).map(|zone| zone.root.as_fd()) else { return };
        let Some((above, name)) = path.split_last() else { return };
        let put = make_dirs(&mut self.keys, root, &above)
            .and_then(|dir| put_back(dir.as_fd(), name, kept));
        let ticket = self.held.catch(zone, path, &ward.pattern, ward.fate());
        self.was_put_back(ticket, put);
    }

    fn was_put_back(&mut self, ticket: Ticket, put: io::Result<()>) {
        match put {
            // Somebody was faster, which is an event of its own.
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                self.held.fail(ticket, format!("what was there could not be put back: {error}"));
            }
            _ => {}
        }
    }

    /// Removes guarded directories that commands made and that are empty.
    pub(super) fn remove_empty(&mut self) {
        // The deepest first.
        for (zone, path) in std::mem::take(&mut self.made).into_iter().rev() {
            let Some((above, name)) = path.split_last() else { continue };
            let Some(root) = self.zones.get(zone).map(|zone| zone.root.as_fd()) else { continue };
            if let Ok(dir) = self.keys.below(root, &above) {
                let _ = remove(&mut self.keys, dir.as_fd(), name, AtFlags::REMOVEDIR);
            }
        }
    }

    /// Takes a directory away, with all that is in it.
    pub(super) fn catch_tree(&mut self, spot: &Spot<'_>, ward: &Ward) {
        match self.take_tree(spot, ward) {
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            Err(errno) => self.failed(spot, ward, errno),
        }
    }

    fn failed(&mut self, spot: &Spot<'_>, ward: &Ward, errno: Errno) {
        let ticket = self.held.catch(spot.zone, spot.path, &ward.pattern, ward.fate());
        self.held.stick(ticket, format!("it could not be removed: {}", io::Error::from(errno)));
        // Somebody may be filling it, or has changed what it is; or all is taken up
        // for a moment.
        let changed = matches!(errno, Errno::NOTEMPTY | Errno::EXIST | Errno::ISDIR | Errno::STALE);
        if changed || matches!(errno, Errno::MFILE | Errno::NFILE | Errno::NOMEM) {
            self.put_off(spot, PATIENCE);
        }
    }

    fn take_tree(&mut self, spot: &Spot<'_>, ward: &Ward) -> Result<(), Errno> {
        let top = self.keys.open(spot.dir, spot.name)?;
        let ticket = self.held.catch(spot.zone, spot.path, &ward.pattern, ward.fate());
        let mut way = Descent::new(top);
        let mut levels = vec![Level::new(spot.name, Vec::new())];
        self.held.take(ticket, b"", directory(way.here()?));
        while let Some(level) = levels.last_mut() {
            let here = way.here()?;
            if let Some(name) = level.dirs.pop() {
                let dir = match self.keys.open(here, &name) {
                    Ok(dir) => dir,
                    // Listed again before this directory goes.
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                    Err(errno) => return Err(errno),
                };
                let below = level.below(&name);
                if let Some(below) = &below {
                    self.held.take(ticket, below, directory(dir.as_fd()));
                }
                way.enter(dir);
                levels.push(Level::new(&name, below.unwrap_or_else(|| vec![b'/'; MAX_PATH])));
                continue;
            }
            level.rounds += 1;
            if level.rounds > MAX_ROUNDS {
                return Err(Errno::NOTEMPTY);
            }
            if self.take_files(here, level, ticket)? {
                continue;
            }
            let Some(level) = levels.pop() else { break };
            way.leave(&mut self.keys);
            let above = if levels.is_empty() { spot.dir } else { way.here()? };
            match remove(&mut self.keys, above, &level.name, AtFlags::REMOVEDIR) {
                Ok(()) | Err(Errno::NOENT) => {}
                // Found again when the directory above is listed again.
                Err(Errno::NOTEMPTY | Errno::EXIST) if !levels.is_empty() => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// Takes all that is no directory, and notes the directories; returns
    /// whether there was anything.
    fn take_files(
        &mut self,
        here: BorrowedFd<'_>,
        level: &mut Level,
        ticket: Ticket,
    ) -> Result<bool, Errno> {
        rustix::fs::seek(here, SeekFrom::Start(0))?;
        let mut any = false;
        let mut entries = rustix::fs::Dir::read_from(here)?;
        while let Some(entry) = entries.read() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            any = true;
            let stat = match rustix::fs::statat(here, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => continue,
                Err(Errno::ACCESS) => {
                    self.keys.unlock(here)?;
                    rustix::fs::statat(here, name, AtFlags::SYMLINK_NOFOLLOW)?
                }
                Err(errno) => return Err(errno),
            };
            if Is::of(&stat) == Is::Directory {
                level.dirs.push(name.to_vec());
                continue;
            }
            match take(&mut self.keys, here, name, &stat) {
                Ok(part) => {
                    if let Some(below) = level.below(name) {
                        self.held.take(ticket, &below, part);
                    }
                }
                // Listed again.
                Err(Errno::NOENT | Errno::ISDIR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(any)
    }
}

/// Opens a directory below a zone, and makes the missing part of its path.
fn make_dirs(keys: &mut Keys, root: BorrowedFd<'_>, path: &RelPath) -> io::Result<OwnedFd> {
    let mut dir = keys.open(root, b".")?;
    for name in path.names() {
        match rustix::fs::mkdirat(&dir, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        dir = keys.open(dir.as_fd(), name)?;
    }
    Ok(dir)
}

/// Puts back what is remembered of a file or link.
fn put_back(dir: BorrowedFd<'_>, name: &[u8], kept: &Kept) -> io::Result<()> {
    match kept.good() {
        Some(What::File(bytes)) => {
            let made = Made { mode: kept.mode, owner: Some(kept.owner) };
            put_file(dir, name, made, Content::Bytes(bytes))
        }
        Some(What::Link(link)) => Ok(rustix::fs::symlinkat(&link[..], dir, name)?),
        None => Ok(()),
    }
}

/// A directory that is being emptied.
struct Level {
    name: Vec<u8>,
    prefix: Vec<u8>,
    dirs: Vec<Vec<u8>>,
    rounds: u32,
}

impl Level {
    fn new(name: &[u8], prefix: Vec<u8>) -> Self {
        Level { name: name.to_vec(), prefix, dirs: Vec::new(), rounds: 0 }
    }

    /// Returns the path of an entry, unless it is too long to be kept.
    fn below(&self, name: &[u8]) -> Option<Vec<u8>> {
        match self.prefix.is_empty() {
            true => Some(name.to_vec()),
            false => Some([&self.prefix, &b"/"[..], name].concat()),
        }
        .filter(|path| path.len() < MAX_PATH)
    }
}

fn directory(dir: BorrowedFd<'_>) -> Part {
    let mode = rustix::fs::fstat(dir).map_or(0o755, |stat| stat.st_mode & 0o777);
    Part { kind: Kind::Directory, mode, link: None, file: None }
}

/// Removes a name, and returns what it stood for. A file is opened first: its
/// content can be read once the name is gone.
fn take(keys: &mut Keys, dir: BorrowedFd<'_>, name: &[u8], stat: &Stat) -> Result<Part, Errno> {
    let mode = stat.st_mode & 0o777;
    let is = Is::of(stat);
    let file = if is == Is::File { open(dir, name) } else { None };
    let link = match is {
        Is::Link => rustix::fs::readlinkat(dir, name, Vec::new()).ok(),
        _ => None,
    };
    remove(keys, dir, name, AtFlags::empty())?;
    let kind = match is {
        Is::File => Kind::File,
        Is::Link => Kind::Link,
        Is::Directory | Is::Special => Kind::Special,
    };
    let link = link.map(std::ffi::CString::into_bytes);
    Ok(Part { kind, mode, link, file })
}

/// Opens a file for its content, whatever its permissions.
fn open(dir: BorrowedFd<'_>, name: &[u8]) -> Option<File> {
    let file = match open_file(dir, name) {
        Ok(file) => file,
        Err(Errno::ACCESS) => {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let held = rustix::fs::openat(dir, name, flags, Mode::empty()).ok()?;
            let stat = rustix::fs::fstat(&held).ok()?;
            if Is::of(&stat) != Is::File || stat.st_nlink > 1 {
                return None;
            }
            let path = path_of(held.as_fd());
            rustix::fs::chmod(&path, Mode::from_raw_mode(0o600)).ok()?;
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
            rustix::fs::open(path, flags, Mode::empty()).ok()?
        }
        Err(_) => return None,
    };
    let stat = rustix::fs::fstat(&file).ok()?;
    (Is::of(&stat) == Is::File).then(|| File::from(file))
}

fn remove(keys: &mut Keys, dir: BorrowedFd<'_>, name: &[u8], flags: AtFlags) -> Result<(), Errno> {
    match rustix::fs::unlinkat(dir, name, flags) {
        Err(Errno::ACCESS) => {
            keys.unlock(dir)?;
            rustix::fs::unlinkat(dir, name, flags)
        }
        result => result,
    }
}
