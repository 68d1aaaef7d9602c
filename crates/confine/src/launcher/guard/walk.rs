//! Goes through directories: watches them, and looks at what is in them.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, SeekFrom};
use rustix::io::Errno;
use zonekeep_policy::path::RelPath;

use super::before::{Identity, Is};
use super::descent::Descent;
use super::judge::{Ruling, Spot, Ward};
use super::sieve::{Class, Sieve, Trail};
use super::watches::{Looked, Marks, Node, Number};
use super::{Guard, MAX_PATH, Zone};
use crate::quarantine::handles::open_dir;

/// How many repositories may lie in one another. Each is gone through again for
/// every one that it lies in.
pub(super) const MAX_NESTED: usize = 8;
/// What is reported for one that lies deeper.
pub(super) const NESTED: &str = ".git/**";
/// How many entries of a directory that becomes read-only are looked at.
const MAX_WITHIN: usize = 100_000;

/// With which eyes things are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    /// Before the first command: all that is there is the user's.
    Start,
    /// While no command runs: what is there is the user's, but it is too late to make
    /// any of it read-only.
    Between,
    /// While it may still be written, and just made: what is watched already is
    /// not gone through again, because it has events of its own.
    Fresh,
    /// While it may still be written.
    Passing,
    /// Right after a file was written, or something moved.
    Written,
    /// As it is.
    Whole,
}

impl View {
    /// Returns whether a directory need not be gone through again: it has been since
    /// the events were read that lead there.
    fn passes_over(self, looked: Looked) -> bool {
        match self {
            View::Fresh => looked != Looked::Never,
            View::Passing | View::Between => looked == Looked::Now,
            View::Start | View::Written | View::Whole => false,
        }
    }

    /// Returns whether what looks bad may only be half of something good, or is
    /// there for a moment.
    pub(super) fn is_early(self, is: Is) -> bool {
        match self {
            View::Fresh | View::Passing => true,
            // It was not the link that was written.
            View::Written => is == Is::Link,
            View::Start | View::Between | View::Whole => false,
        }
    }

    /// Returns whether all that is there is the user's.
    pub(super) fn trusts(self) -> bool {
        matches!(self, View::Start | View::Between)
    }
}

/// A directory, and what is known about the way to it.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) zone: usize,
    pub(super) watch: Number,
    pub(super) path: RelPath,
    pub(super) trail: Trail,
    /// Its path below each directory on the way, or itself, that is laid out as
    /// a repository.
    pub(super) bares: Vec<RelPath>,
}

/// What is in a directory, as far as it can matter.
#[derive(Debug, Default)]
struct Listing {
    dirs: Vec<Vec<u8>>,
    entries: Vec<(Vec<u8>, Class)>,
    marks: Marks,
    /// Whether `.git` is among them.
    has_git: bool,
}

impl Guard {
    /// Goes through all zones.
    pub(super) fn walk_all(&mut self, view: View) {
        for zone in 0..self.zones.len() {
            let (path, trail, bares) = (RelPath::root(), Trail::default(), Vec::new());
            let top = open_dir(self.zones[zone].root.as_fd(), b".");
            match top {
                Ok(top) => {
                    self.see_directory(zone, &path, view);
                    let place = Place { zone, watch: 0, path, trail, bares };
                    if let Some((place, dirs)) = self.arrive(top.as_fd(), place, b"", view) {
                        self.walk(top, place, dirs, view);
                    }
                }
                Err(errno) => self.miss(errno),
            }
        }
    }

    fn see_directory(&mut self, zone: usize, path: &RelPath, view: View) {
        let Some(Zone { host, .. }) = self.zones.get(zone) else { return };
        match view.trusts() {
            true => self.directories.see_old(host, path),
            false => self.directories.see(host, path),
        }
    }

    /// Goes through a directory that is there, or came to be there, in another.
    pub(super) fn walk_below(
        &mut self,
        at: BorrowedFd<'_>,
        above: &Place,
        name: &[u8],
        view: View,
    ) {
        if let Some((dir, place, dirs)) = self.descend(at, above, name, view) {
            self.walk(dir, place, dirs, view);
        }
    }

    /// Goes through a directory that turned out to be a repository.
    pub(super) fn walk_again(&mut self, at: BorrowedFd<'_>, place: Place, view: View) {
        let Ok(dir) = self.keys.open(at, b".") else { return };
        let listing = self.list(dir.as_fd(), &place);
        self.look_at_all(dir.as_fd(), &place, listing.entries, view);
        self.walk(dir, place, listing.dirs, view);
    }

    fn walk(&mut self, top: OwnedFd, place: Place, dirs: Vec<Vec<u8>>, view: View) {
        let mut way = Descent::new(top);
        let mut levels = vec![(place, dirs)];
        while let Some((place, dirs)) = levels.last_mut() {
            let Some(name) = dirs.pop() else {
                levels.pop();
                way.leave(&mut self.keys);
                continue;
            };
            let Ok(here) = way.here() else {
                // Moved away while this looked into it, and lost.
                self.must_sweep = true;
                return;
            };
            if let Some((dir, place, dirs)) = self.descend(here, place, &name, view)
                && !dirs.is_empty()
            {
                way.enter(dir);
                levels.push((place, dirs));
            }
        }
    }

    /// Goes one directory down, unless it does not matter or was caught.
    fn descend(
        &mut self,
        at: BorrowedFd<'_>,
        above: &Place,
        name: &[u8],
        view: View,
    ) -> Option<(OwnedFd, Place, Vec<Vec<u8>>)> {
        let path = above.path.join(name);
        let class = self.rules.sieve.class(&above.trail, name);
        let trail = self.rules.sieve.step(&above.trail, name);
        let bares: Vec<RelPath> = above.bares.iter().map(|below| below.join(name)).collect();
        let matters = class != Class::Plain || !bares.is_empty();
        if path.as_bytes().len() > MAX_PATH {
            self.too_deep(above.zone, &path, view);
            return None;
        }
        let zone = above.zone;
        self.see_directory(zone, &path, view);
        if matters {
            let path = &path;
            let spot = Spot { zone, dir: at, watch: above.watch, name, path, bares: &bares, class };
            if !self.may_enter(&spot, view) {
                return None;
            }
        }
        let opened = match view {
            _ if view.trusts() => open_dir(at, name),
            _ => self.keys.open(at, name),
        };
        let dir = match opened {
            Ok(dir) => dir,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return None,
            Err(Errno::ACCESS) => {
                // Nobody looks into it as long as its permissions stay.
                self.watches.add_permissions(above.watch, at);
                return None;
            }
            Err(errno) => {
                self.miss(errno);
                return None;
            }
        };
        let place = Place { zone, watch: above.watch, path: path.clone(), trail, bares };
        if let Some((place, dirs)) = self.arrive(dir.as_fd(), place, name, view) {
            return Some((dir, place, dirs));
        }
        let (path, bares) = (&path, &[][..]);
        self.catch_tree(
            &Spot { zone, dir: at, watch: above.watch, name, path, bares, class },
            &Ward::strict(NESTED),
        );
        None
    }

    /// Decides about a directory that could be guarded: catches it, or returns
    /// whether to go on into it.
    fn may_enter(&mut self, spot: &Spot<'_>, view: View) -> bool {
        let Some(ward) = self.ward_of_tree(spot) else { return true };
        let id = Identity::of(spot.dir, spot.name);
        match view {
            View::Start if self.stays_writable(spot, &ward) => {
                self.before.know_loose(id);
                true
            }
            View::Start => {
                self.before.know(id);
                self.fix(spot);
                if self.has_own_tree {
                    self.note_within(spot);
                }
                !self.has_own_tree
            }
            View::Between => {
                if !self.before.knows(id) {
                    self.before.know_loose(id);
                }
                !self.is_read_only(id)
            }
            _ if self.before.knows(id) => !self.is_read_only(id),
            _ => match self.ruling(spot, Is::Directory) {
                Ruling::Guarded(ward) => self.look_at_directory(spot, &ward, view),
                // Made by ordinary git; only what is in it is guarded.
                _ => true,
            },
        }
    }

    /// Returns whether a directory that is known is read-only for commands.
    fn is_read_only(&self, id: Option<Identity>) -> bool {
        self.has_own_tree && !self.before.is_loose(id)
    }

    /// Looks through a directory that becomes read-only as a whole for what could be
    /// changed from elsewhere: links, and files that have another name.
    fn note_within(&mut self, top: &Spot<'_>) {
        let Ok(within) = open_dir(top.dir, top.name) else { return };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut left = MAX_WITHIN;
        let mut ahead = vec![RelPath::root()];
        while let Some(below) = ahead.pop() {
            let name = if below.is_root() { b"." } else { below.as_bytes() };
            let opened = rustix::fs::openat2(&within, name, flags, Mode::empty(), resolve);
            let Ok(mut entries) = opened.and_then(rustix::fs::Dir::new) else { continue };
            while let Some(Ok(entry)) = entries.read() {
                let name = entry.file_name().to_bytes();
                let Ok(dir) = entries.fd() else { break };
                if name == b"." || name == b".." {
                    continue;
                }
                let Some(fewer) = left.checked_sub(1) else { return };
                left = fewer;
                let Ok(stat) = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) else {
                    continue;
                };
                let below = below.join(name);
                match Is::of(&stat) {
                    Is::Directory => ahead.push(below),
                    Is::File if stat.st_nlink < 2 => {}
                    _ => {
                        let path = &top.path.join_rel(&below);
                        let bares: Vec<RelPath> =
                            top.bares.iter().map(|bare| bare.join_rel(&below)).collect();
                        let (zone, class) = (top.zone, Class::Pattern);
                        let spot = Spot { zone, dir, watch: 0, name, path, bares: &bares, class };
                        self.note_ways(&spot, &stat);
                    }
                }
            }
        }
    }

    /// Watches a directory, and looks at what is in it; returns the directories
    /// in it, or nothing where it is not to stay.
    fn arrive(
        &mut self,
        dir: BorrowedFd<'_>,
        mut place: Place,
        name: &[u8],
        view: View,
    ) -> Option<(Place, Vec<Vec<u8>>)> {
        // Before it is listed, so that nothing can come between.
        let node = Node::new(place.zone, &place.path, &place.trail, &place.bares);
        let zones = &self.zones;
        // Where one zone lies in another, the longer path says more.
        let keep = |old: &Node| {
            old.zone != place.zone && zones[place.zone].host.starts_with(&zones[old.zone].host)
        };
        match self.watches.add(dir, node, keep) {
            Ok((number, looked)) => {
                place.watch = number;
                if view.passes_over(looked) {
                    return Some((place, Vec::new()));
                }
                self.watches.look_into(number);
            }
            Err(errno) => {
                place.watch = 0;
                self.miss(errno);
            }
        }
        let mut listing = self.list(dir, &place);
        if listing.has_git {
            self.add_work_tree(place.zone, &place.path, view);
        }
        let is_repository =
            listing.marks.are_of_a_repository() && !name.eq_ignore_ascii_case(b".git");
        let is_innermost = is_repository && place.bares.len() >= MAX_NESTED;
        if is_innermost {
            let id = Identity::of(dir, b"");
            match view {
                _ if view.trusts() => self.before.know(id),
                _ if self.before.knows(id) => {}
                _ => return None,
            }
        } else if is_repository {
            place.bares.push(RelPath::root());
            let _ = rustix::fs::seek(dir, SeekFrom::Start(0));
            listing = self.list(dir, &place);
        }
        if let Some(node) = self.watches.node_mut(place.watch) {
            node.marks = listing.marks;
            node.bares.clone_from(&place.bares);
        }
        self.look_at_all(dir, &place, listing.entries, view);
        Some((place, listing.dirs))
    }

    fn list(&mut self, dir: BorrowedFd<'_>, place: &Place) -> Listing {
        let mut buffer = std::mem::take(&mut self.buffer);
        let listed = list(dir, &mut buffer, &self.rules.sieve, place);
        self.buffer = buffer;
        listed.unwrap_or_else(|errno| {
            self.miss(errno);
            Listing::default()
        })
    }

    fn look_at_all(
        &mut self,
        dir: BorrowedFd<'_>,
        place: &Place,
        entries: Vec<(Vec<u8>, Class)>,
        view: View,
    ) {
        for (name, class) in entries {
            self.look_at_entry(dir, place, &name, class, view);
        }
    }

    /// Looks at an entry of a directory that is no directory itself.
    pub(super) fn look_at_entry(
        &mut self,
        dir: BorrowedFd<'_>,
        place: &Place,
        name: &[u8],
        class: Class,
        view: View,
    ) {
        let bares: Vec<RelPath> = place.bares.iter().map(|below| below.join(name)).collect();
        if class == Class::Plain && bares.is_empty() {
            return;
        }
        let (path, zone, watch) = (&place.path.join(name), place.zone, place.watch);
        let spot = Spot { zone, dir, watch, name, path, bares: &bares, class };
        match view {
            view if view.trusts() => self.note(&spot, view),
            view => self.look_at(&spot, view),
        }
    }
}

fn list(
    dir: BorrowedFd<'_>,
    buffer: &mut [MaybeUninit<u8>],
    sieve: &Sieve,
    place: &Place,
) -> Result<Listing, Errno> {
    let mut listing = Listing::default();
    let all = !place.bares.is_empty();
    let mut entries = RawDir::new(dir, buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        listing.marks.see(name);
        listing.has_git |= name.eq_ignore_ascii_case(b".git");
        let is_dir = match entry.file_type() {
            FileType::Directory => true,
            FileType::Unknown => rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| Is::of(&stat) == Is::Directory),
            _ => false,
        };
        if is_dir {
            listing.dirs.push(name.to_vec());
            continue;
        }
        let class = sieve.class(&place.trail, name);
        if all || class != Class::Plain {
            listing.entries.push((name.to_vec(), class));
        }
    }
    Ok(listing)
}
