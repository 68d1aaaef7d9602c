//! Files of writable zones that have other names outside them (hard links).
//!
//! All names of a file share one content, so a command that writes such a file in a
//! zone changes it outside too. Package managers make many of them (the pnpm store, the
//! uv cache), `cp -l` and local clones of git as well. A file counts as shared unless
//! all its names were found in writable zones; it is read-only for commands then.
//!
//! Commands of other sessions may run meanwhile: no link is followed, and a name is
//! counted once, by the directory it is in. A directory that cannot be looked into, or
//! lies too deep, could hide a shared file, and is read-only as a whole.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use zonekeep_policy::guard::matches_file;
use zonekeep_policy::path::{RelPath, escape};

use crate::launcher::Fixed;
use crate::plan::{Access, Backend, Plan};

/// The longest path below a zone that is looked into, in bytes. It leaves room for the
/// names of one more level: the kernel takes no path of more than 4096.
const MAX_PATH: usize = 3072;
/// How many paths are named.
const MAX_NAMED: usize = 8;

/// How many mounts a backend makes for shared files.
struct Bounds {
    /// Up to here each file is mounted by itself; above, the directories they are in.
    single: usize,
    /// Above that commands are refused.
    all: usize,
}

impl Bounds {
    fn of(backend: Backend) -> Self {
        match backend {
            // `bwrap` reads the list of all mounts for each one that it makes.
            Backend::Bubblewrap => Bounds { single: 200, all: 400 },
            _ => Bounds { single: 4_000, all: 10_000 },
        }
    }
}

/// A path in a writable zone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Place {
    /// The number of the zone.
    zone: usize,
    path: RelPath,
}

/// Shared files, for people: how many there are, and the names of some.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Shared {
    /// How many names there are.
    pub count: usize,
    /// Some of them, escaped, as commands see them.
    pub named: Vec<String>,
}

impl Shared {
    /// Returns the names as a list, which says how many more there are.
    pub fn list(&self) -> String {
        let more = self.count.saturating_sub(self.named.len());
        let mut list = self.named.join(", ");
        if more > 0 {
            list.push_str(&format!(" and {more} more"));
        }
        list
    }
}

/// The shared files of all writable zones of a plan.
#[derive(Debug, Default)]
pub struct HardLinks {
    /// Where each zone is in the tree.
    zones: Vec<PathBuf>,
    files: Vec<Place>,
    /// Directories that could not be looked into.
    closed: Vec<Place>,
}

impl HardLinks {
    /// Looks through all writable zones of a plan; fails with the zone that cannot be read.
    pub fn find(plan: &Plan) -> Result<Self, (PathBuf, io::Error)> {
        let zones = plan.zones().filter(|bind| bind.access == Access::Rw);
        let zones = zones.map(|bind| (bind.host.as_path(), bind.at.as_path()));
        HardLinks::find_in(zones, &plan.rules.allow_hard_links)
    }

    /// Looks through writable zones, each with its host path and its place in the tree,
    /// for shared files that no pattern allows.
    pub fn find_in<'z>(
        zones: impl IntoIterator<Item = (&'z Path, &'z Path)>,
        allow: &[String],
    ) -> Result<Self, (PathBuf, io::Error)> {
        let mut found = HardLinks::default();
        let mut walk = Walk::default();
        for (host, at) in zones {
            // The build names a zone that is missing.
            let unread = |error| (host.to_owned(), error);
            let Some(root) = open_zone(host).map_err(unread)? else { continue };
            found.zones.push(at.to_owned());
            walk.zone(found.zones.len() - 1, root.as_fd()).map_err(unread)?;
        }
        found.closed = walk.closed;
        let shared = walk.inodes.into_values().filter(|inode| inode.counted < inode.links);
        let allowed =
            |place: &Place| allow.iter().any(|pattern| matches_file(pattern, &place.path));
        found.files = shared.flat_map(|inode| inode.places).filter(|at| !allowed(at)).collect();
        found.files.sort_by(|a, b| (a.zone, a.path.as_bytes()).cmp(&(b.zone, b.path.as_bytes())));
        Ok(found)
    }

    /// Returns how many names shared files have, and some of them.
    pub fn shared(&self) -> Shared {
        let named = self.files.iter().take(MAX_NAMED).map(|place| {
            let at = self.zones[place.zone].join(OsStr::from_bytes(place.path.as_bytes()));
            escape(at.as_os_str().as_bytes())
        });
        Shared { count: self.files.len(), named: named.collect() }
    }

    /// Returns the paths to make read-only. Many files are not mounted one by one, but
    /// with the directories that they are in.
    pub(crate) fn fixed(&self, backend: Backend) -> io::Result<Vec<Fixed>> {
        let bounds = Bounds::of(backend);
        let single: Vec<&Place> = self.files.iter().chain(&self.closed).collect();
        if single.len() <= bounds.single {
            return Ok(single.into_iter().map(|place| self.fix(place)).collect());
        }
        let above: HashSet<Place> = single.iter().map(|place| directory_of(place)).collect();
        let is_covered = |place: &Place| {
            let mut path = place.path.clone();
            while let Some((above_it, _)) = path.split_last() {
                path = above_it;
                if above.contains(&Place { zone: place.zone, path: path.clone() }) {
                    return true;
                }
            }
            false
        };
        let outermost: Vec<Fixed> =
            above.iter().filter(|place| !is_covered(place)).map(|place| self.fix(place)).collect();
        match outermost.len() <= bounds.all {
            true => Ok(outermost),
            false => Err(io::Error::other(format!(
                "{} files in writable directories have other names outside them, and commands \
                 would change both ({}): too many to make them read-only. Copy them instead of \
                 linking them, or allow them by sandbox.allow_hard_links",
                self.files.len(),
                self.shared().list()
            ))),
        }
    }

    fn fix(&self, place: &Place) -> Fixed {
        let below = PathBuf::from(OsStr::from_bytes(place.path.as_bytes()));
        Fixed { zone: self.zones[place.zone].clone(), below, access: Access::Ro }
    }
}

/// Returns the directory that a path is in; the path itself at the top of a zone, which
/// is never read-only as a whole.
fn directory_of(place: &Place) -> Place {
    match place.path.split_last() {
        Some((above, _)) if !above.is_root() => Place { zone: place.zone, path: above },
        _ => place.clone(),
    }
}

/// Returns the names that a file has in a directory and below. Only a file with more
/// than one name needs to be looked for. Fails where something cannot be looked into.
pub fn names_in(dir: &Path, device: u64, inode: u64) -> io::Result<Vec<RelPath>> {
    let mut walk = Walk::default();
    if let Some(root) = open_zone(dir)? {
        walk.zone(0, root.as_fd())?;
    }
    match walk.inodes.remove(&(device, inode)) {
        Some(found) => Ok(found.places.into_iter().map(|place| place.path).collect()),
        None if walk.closed.is_empty() => Ok(Vec::new()),
        None => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

fn open_zone(host: &Path) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::open(host, flags, Mode::empty()) {
        Ok(root) => Ok(Some(root)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// A file with more than one name.
#[derive(Debug)]
struct Inode {
    /// How many names it has, wherever they are.
    links: u64,
    /// How many of them were found, each once.
    counted: u64,
    /// Where they were found; twice where one zone lies in another.
    places: Vec<Place>,
}

#[derive(Debug, Default)]
struct Walk {
    inodes: HashMap<(u64, u64), Inode>,
    /// Directories whose names are counted.
    counted: HashSet<(u64, u64)>,
    closed: Vec<Place>,
}

impl Walk {
    fn zone(&mut self, zone: usize, root: BorrowedFd<'_>) -> io::Result<()> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut buffer = vec![MaybeUninit::uninit(); 64 * 1024];
        let mut ahead = vec![RelPath::root()];
        while let Some(path) = ahead.pop() {
            let name = if path.is_root() { b"." } else { path.as_bytes() };
            let opened = match path.as_bytes().len() > MAX_PATH {
                true => Err(Errno::NAMETOOLONG),
                false => rustix::fs::openat2(root, name, flags, Mode::empty(), resolve),
            };
            let listed = opened
                .and_then(|dir| self.directory(zone, dir.as_fd(), &path, &mut buffer, &mut ahead));
            match listed {
                Ok(()) => {}
                // It went away, or became something else, since it was listed.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(errno) if path.is_root() => return Err(errno.into()),
                Err(_) => self.closed.push(Place { zone, path }),
            }
        }
        Ok(())
    }

    fn directory(
        &mut self,
        zone: usize,
        dir: BorrowedFd<'_>,
        path: &RelPath,
        buffer: &mut [MaybeUninit<u8>],
        ahead: &mut Vec<RelPath>,
    ) -> Result<(), Errno> {
        let counts = self.counted.insert(identity(&rustix::fs::fstat(dir)?));
        let mut entries = RawDir::new(dir, buffer);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let kind = entry.file_type();
            if kind == FileType::Directory {
                ahead.push(path.join(name));
            }
            if !matches!(kind, FileType::RegularFile | FileType::Unknown) {
                continue;
            }
            let stat = match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => continue,
                Err(errno) => return Err(errno),
            };
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => ahead.push(path.join(name)),
                FileType::RegularFile if stat.st_nlink > 1 => {
                    let new = Inode { links: 0, counted: 0, places: Vec::new() };
                    let inode = self.inodes.entry(identity(&stat)).or_insert(new);
                    // The number can change meanwhile: the largest counts. Its width
                    // differs by processor.
                    #[allow(clippy::unnecessary_cast)]
                    let links = stat.st_nlink as u64;
                    inode.links = inode.links.max(links);
                    inode.counted += u64::from(counts);
                    inode.places.push(Place { zone, path: path.join(name) });
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}
