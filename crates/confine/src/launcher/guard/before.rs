//! What was there before commands ran, and what of it may be put back.

use std::collections::{HashMap, HashSet};
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, FileType, Stat, StatxFlags};
use zonekeep_policy::path::RelPath;

use super::sieve::Class;

/// The largest file that is kept in memory.
pub(super) const MAX_KEPT: usize = 1024 * 1024;
/// How many files are looked at when a command has ended; for more, everything is.
const MAX_SEEN: usize = 100_000;
/// How much is kept in memory in all.
const MAX_ALL: usize = 64 * 1024 * 1024;

/// What makes a file the same file wherever its name goes: the time of its birth
/// cannot be set, so a number that is used again is told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    device: (u32, u32),
    inode: u64,
    born: (i64, u32),
}

impl Identity {
    /// Looks at a name without following it; an empty name is the handle itself.
    pub(super) fn of(at: BorrowedFd<'_>, name: &[u8]) -> Option<Self> {
        let wanted = StatxFlags::INO | StatxFlags::BTIME;
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
        let stat = rustix::fs::statx(at, name, flags, wanted).ok()?;
        Some(Identity {
            device: (stat.stx_dev_major, stat.stx_dev_minor),
            inode: stat.stx_ino,
            born: (stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec),
        })
    }
}

/// What was or is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// A file with this content.
    File(Vec<u8>),
    /// A link to this place.
    Link(Vec<u8>),
}

/// Something that is remembered.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    /// What was there first; `None` for a file that a command made.
    pub(super) before: Option<What>,
    /// What was there last and did no harm, where that is something else.
    last: Option<What>,
    pub(super) mode: u32,
    pub(super) owner: (u32, u32),
}

impl Kept {
    /// Returns what to put back.
    pub(super) fn good(&self) -> Option<&What> {
        self.last.as_ref().or(self.before.as_ref())
    }

    /// Returns the bytes that were in the file first.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        match &self.before {
            Some(What::File(bytes)) => Some(bytes),
            _ => None,
        }
    }
}

/// A zone, and a path below it.
pub(super) type Place = (usize, RelPath);

/// All that is remembered.
#[derive(Debug, Default)]
pub(super) struct Before {
    kept: HashMap<Place, Kept>,
    places: HashMap<Identity, Place>,
    /// What existed and is read-only, or is at least not to be taken away.
    known: HashSet<Identity>,
    /// Directories among them that the user made while commands could have been running:
    /// they are not read-only.
    loose: HashSet<Identity>,
    /// Files that are too large to be kept, by what changes with their content: the time
    /// of the last change cannot be set.
    versions: HashMap<Place, Version>,
    /// Files whose content counts, and how they were found.
    seen: HashMap<Place, (Vec<RelPath>, Class)>,
    size: usize,
}

/// The inode of a file, its size and the time of its last change.
type Version = (u64, i64, (i64, u64));

fn version(stat: &Stat) -> Version {
    (stat.st_ino, stat.st_size, (stat.st_ctime, stat.st_ctime_nsec))
}

impl Before {
    /// Remembers a file without its content.
    pub(super) fn note_version(&mut self, zone: usize, path: &RelPath, stat: &Stat) {
        self.versions.insert((zone, path.clone()), version(stat));
    }

    /// Returns whether a file is remembered without its content, and has not changed.
    pub(super) fn is_version(&self, zone: usize, path: &RelPath, stat: &Stat) -> bool {
        self.versions.get(&(zone, path.clone())) == Some(&version(stat))
    }

    pub(super) fn know(&mut self, id: Option<Identity>) {
        self.known.extend(id);
    }

    pub(super) fn knows(&self, id: Option<Identity>) -> bool {
        id.is_some_and(|id| self.known.contains(&id))
    }

    /// Knows a directory that is not read-only.
    pub(super) fn know_loose(&mut self, id: Option<Identity>) {
        self.know(id);
        self.loose.extend(id);
    }

    pub(super) fn is_loose(&self, id: Option<Identity>) -> bool {
        id.is_some_and(|id| self.loose.contains(&id))
    }

    /// Forgets what was at a path, because the user has changed it.
    pub(super) fn forget(&mut self, zone: usize, path: &RelPath) {
        let Some(kept) = self.kept.remove(&(zone, path.clone())) else { return };
        for What::File(bytes) | What::Link(bytes) in [kept.before, kept.last].into_iter().flatten()
        {
            self.size = self.size.saturating_sub(bytes.len());
        }
    }

    /// Compares later changes of a path with a version that was accepted.
    pub(super) fn rebase(
        &mut self,
        zone: usize,
        path: &RelPath,
        id: Option<Identity>,
        stat: &Stat,
        what: Option<What>,
    ) {
        self.forget(zone, path);
        let kept = what.is_some_and(|what| self.keep(zone, path, id, stat, what));
        if !kept {
            self.note_version(zone, path, stat);
        }
    }

    /// Remembers what is the user's; returns whether it could.
    pub(super) fn keep(
        &mut self,
        zone: usize,
        path: &RelPath,
        id: Option<Identity>,
        stat: &Stat,
        what: What,
    ) -> bool {
        let place = (zone, path.clone());
        if self.kept.contains_key(&place) {
            return true;
        }
        if !self.has_room(&what) {
            return false;
        }
        let kept = Kept {
            before: Some(what),
            last: None,
            mode: stat.st_mode & 0o777,
            owner: (stat.st_uid, stat.st_gid),
        };
        if let Some(id) = id {
            self.places.insert(id, place.clone());
        }
        self.kept.insert(place, kept);
        true
    }

    /// Remembers that what is at a path now does no harm.
    pub(super) fn accept(&mut self, zone: usize, path: &RelPath, stat: &Stat, what: What) {
        let place = (zone, path.clone());
        let Some(kept) = self.kept.get_mut(&place) else {
            if self.has_room(&what) {
                let (mode, owner) = (stat.st_mode & 0o777, (stat.st_uid, stat.st_gid));
                self.kept.insert(place, Kept { before: None, last: Some(what), mode, owner });
            }
            return;
        };
        if kept.good() == Some(&what) {
            return;
        }
        if let Some(What::File(old) | What::Link(old)) = kept.last.take() {
            self.size = self.size.saturating_sub(old.len());
        }
        if kept.before.as_ref() != Some(&what)
            && self.has_room(&what)
            && let Some(kept) = self.kept.get_mut(&place)
        {
            kept.last = Some(what);
        }
    }

    /// Notes a file whose content counts; returns whether there is room for it.
    pub(super) fn see(
        &mut self,
        zone: usize,
        path: &RelPath,
        bares: &[RelPath],
        class: Class,
    ) -> bool {
        let place = (zone, path.clone());
        let has_room = self.seen.len() < MAX_SEEN || self.seen.contains_key(&place);
        if has_room {
            self.seen.insert(place, (bares.to_vec(), class));
        }
        has_room
    }

    /// Returns all files whose content counts.
    pub(super) fn seen(&self) -> impl Iterator<Item = (&Place, &(Vec<RelPath>, Class))> {
        self.seen.iter()
    }

    fn has_room(&mut self, what: &What) -> bool {
        let size = match what {
            What::File(bytes) | What::Link(bytes) => bytes.len(),
        };
        let fits = size <= MAX_KEPT && self.size + size <= MAX_ALL;
        self.size += if fits { size } else { 0 };
        fits
    }

    /// Returns what is remembered of a path, or of a file that has moved there.
    pub(super) fn find(&self, zone: usize, path: &RelPath, id: Option<Identity>) -> Option<&Kept> {
        let here = self.kept.get(&(zone, path.clone()));
        here.or_else(|| self.kept.get(self.places.get(&id?)?))
    }
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Is {
    File,
    Directory,
    Link,
    Special,
}

impl Is {
    pub(super) fn of(stat: &Stat) -> Self {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Is::File,
            FileType::Directory => Is::Directory,
            FileType::Symlink => Is::Link,
            _ => Is::Special,
        }
    }
}
