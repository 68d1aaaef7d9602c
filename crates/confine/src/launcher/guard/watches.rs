//! Which directories are watched, and where they are.

use std::collections::{HashMap, HashSet};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::inotify::{self, ReadFlags, WatchFlags};
use rustix::io::Errno;
use zonekeep_policy::path::RelPath;
use zonekeep_policy::planted::bare_repository;

use super::sieve::{Class, Sieve, Trail};
use crate::quarantine::handles::path_of;

/// How a kernel's watch is called; 0 is none.
pub(super) type Number = i32;

/// A watched directory.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) zone: usize,
    /// Where it was when it was last looked into; each directory below one that
    /// moves is looked into again.
    pub(super) path: RelPath,
    pub(super) trail: Trail,
    pub(super) bares: Vec<RelPath>,
    pub(super) marks: Marks,
    /// What is watched besides the coming of names.
    more: WatchFlags,
    /// Its device and number.
    id: (u64, u64),
    /// With which batch of events it was last looked into.
    batch: u64,
}

/// Names by which a directory is known for a repository, as far as seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Marks(u8);

impl Marks {
    const NAMES: [&'static [u8]; 4] = [b"HEAD", b"objects", b"refs", b"commondir"];

    /// Notes a name; returns whether it is one of them.
    pub(super) fn see(&mut self, name: &[u8]) -> bool {
        let found = Self::NAMES.iter().position(|mark| mark.eq_ignore_ascii_case(name));
        found.is_some_and(|number| {
            self.0 |= 1 << number;
            true
        })
    }

    /// Returns whether git takes the directory for a repository.
    pub(super) fn are_of_a_repository(self) -> bool {
        let seen: Vec<&[u8]> = Self::NAMES
            .into_iter()
            .enumerate()
            .filter(|(number, _)| self.0 & 1 << number != 0)
            .map(|(_, name)| name)
            .collect();
        !seen.is_empty() && bare_repository(&seen)
    }
}

/// Something that happened in a watched directory, and can matter.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) watch: Number,
    pub(super) name: Vec<u8>,
    pub(super) is_dir: bool,
    /// Whether a whole file is there, as far as can be told.
    pub(super) whole: bool,
    /// Whether it was moved there.
    pub(super) moved: bool,
}

/// What came of reading events.
#[derive(Debug, Default)]
pub(super) struct Drained {
    pub(super) events: Vec<Event>,
    /// Whether there was anything at all.
    pub(super) any: bool,
    /// Whether some were lost.
    pub(super) lost: bool,
}

/// Since when a directory has been looked into, and watched from then on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looked {
    /// Since the last events were read.
    Now,
    /// Since those before, which may tell of what was there by then.
    Before,
    /// For longer, or not at all. Whatever has happened since, it is not known here
    /// where the directory was meanwhile.
    Never,
}

impl Looked {
    fn in_batch(looked: u64, now: u64) -> Self {
        match now.saturating_sub(looked) {
            0 => Looked::Now,
            1 => Looked::Before,
            _ => Looked::Never,
        }
    }
}

/// All watches.
#[derive(Debug)]
pub(super) struct Watches {
    /// `None` where the kernel gives out no more.
    inotify: Option<OwnedFd>,
    nodes: HashMap<Number, Node>,
    /// Those that were not where they were thought to be when something happened
    /// in them, and have not been looked into since.
    lost: HashSet<Number>,
    /// How often events were read.
    batch: u64,
}

impl Watches {
    pub(super) fn new() -> (Self, Option<Errno>) {
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        let (inotify, failed) = match inotify::init(flags) {
            Ok(fd) => (Some(fd), None),
            Err(errno) => (None, Some(errno)),
        };
        (Watches { inotify, nodes: HashMap::new(), lost: HashSet::new(), batch: 0 }, failed)
    }

    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.inotify.as_ref().map(AsFd::as_fd)
    }

    /// Returns whether there are events to read.
    pub(super) fn has_more(&self) -> bool {
        self.fd().is_some_and(|fd| rustix::io::ioctl_fionread(fd).is_ok_and(|bytes| bytes > 0))
    }

    /// Watches an open directory. A directory that is watched already keeps its
    /// number, and `node` says where it is now, unless `keep` says otherwise.
    /// Returns the number, and since when it has been looked into at that very place
    /// and as part of the same repositories.
    pub(super) fn add(
        &mut self,
        dir: BorrowedFd<'_>,
        mut node: Node,
        keep: impl FnOnce(&Node) -> bool,
    ) -> Result<(Number, Looked), Errno> {
        let Some(inotify) = &self.inotify else { return Err(Errno::MFILE) };
        // What more is watched is added to, never taken away.
        let number = watch(inotify, dir, WatchFlags::empty())?;
        (node.id, node.batch) = (identity(dir)?, self.batch);
        let mut looked = Looked::Never;
        let was_lost = self.lost.remove(&number);
        if let Some(old) = self.nodes.get(&number) {
            if keep(old) {
                return Ok((number, Looked::Never));
            }
            let same = old.zone == node.zone && old.path == node.path;
            // What makes it a repository itself is its own.
            let above = old.bares.iter().filter(|bare| !bare.is_root());
            if same && !was_lost && above.eq(&node.bares) {
                looked = Looked::in_batch(old.batch, self.batch);
            }
            (node.more, node.marks) = (old.more, old.marks);
            if looked != Looked::Never {
                (node.bares, node.batch) = (old.bares.clone(), old.batch);
            }
        }
        self.nodes.insert(number, node);
        Ok((number, looked))
    }

    /// Notes that a directory is looked into now.
    pub(super) fn look_into(&mut self, number: Number) {
        if let Some(node) = self.nodes.get_mut(&number) {
            node.batch = self.batch;
        }
    }

    /// Watches what is written into files of a directory too.
    pub(super) fn add_content(&mut self, number: Number, dir: BorrowedFd<'_>) {
        self.add_more(number, dir, WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE);
    }

    /// Watches the permissions of what is in a directory too.
    pub(super) fn add_permissions(&mut self, number: Number, dir: BorrowedFd<'_>) {
        self.add_more(number, dir, WatchFlags::ATTRIB);
    }

    fn add_more(&mut self, number: Number, dir: BorrowedFd<'_>, more: WatchFlags) {
        let (Some(inotify), Some(node)) = (&self.inotify, self.nodes.get_mut(&number)) else {
            return;
        };
        if !node.more.contains(more) && watch(inotify, dir, more).is_ok() {
            node.more |= more;
        }
    }

    /// Returns whether an open directory is the one that is watched.
    pub(super) fn is(&self, number: Number, dir: BorrowedFd<'_>) -> bool {
        let id = self.nodes.get(&number).map(|node| node.id);
        id.is_some() && id == identity(dir).ok()
    }

    /// Notes that a directory is not where it was thought to be.
    pub(super) fn lose(&mut self, number: Number) {
        if self.nodes.contains_key(&number) {
            self.lost.insert(number);
        }
    }

    /// Returns whether a directory is somewhere else, as far as is known.
    pub(super) fn is_lost(&self, number: Number) -> bool {
        self.lost.contains(&number)
    }

    /// Returns whether any directory is.
    pub(super) fn any_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    pub(super) fn node_mut(&mut self, number: Number) -> Option<&mut Node> {
        self.nodes.get_mut(&number)
    }

    /// Reads the events that are there.
    pub(super) fn drain(&mut self, sieve: &Sieve, buffer: &mut [MaybeUninit<u8>]) -> Drained {
        let mut drained = Drained::default();
        self.batch += 1;
        let Some(inotify) = &self.inotify else { return drained };
        let mut gone = Vec::new();
        let mut places: HashMap<(Number, Vec<u8>), usize> = HashMap::new();
        let mut reader = inotify::Reader::new(inotify, buffer);
        for _ in 0..super::MAX_EVENTS {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(_) => break,
            };
            drained.any = true;
            let (number, flags) = (event.wd(), event.events());
            if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                drained.lost = true;
            } else if flags.contains(ReadFlags::IGNORED) {
                gone.push(number);
            } else if let Some(name) = event.file_name()
                && let Some(node) = self.nodes.get(&number)
            {
                let name = name.to_bytes();
                let is_dir = flags.contains(ReadFlags::ISDIR);
                let moved = flags.contains(ReadFlags::MOVED_TO);
                let whole = flags.intersects(ReadFlags::MOVED_TO | ReadFlags::CLOSE_WRITE);
                if is_dir
                    || !node.bares.is_empty()
                    || Marks::default().see(name)
                    || sieve.class(&node.trail, name) != Class::Plain
                {
                    // What happened to a name is looked at once, as it is by then.
                    let (events, name) = (&mut drained.events, name.to_vec());
                    let at = *places.entry((number, name.clone())).or_insert(events.len());
                    match events.get_mut(at) {
                        Some(Event {
                            is_dir: was_dir, whole: was_whole, moved: was_moved, ..
                        }) => {
                            *was_dir = is_dir;
                            // Another file of that name is not written yet.
                            *was_whole &= !flags.contains(ReadFlags::CREATE);
                            *was_whole |= whole;
                            *was_moved |= moved;
                        }
                        None => {
                            events.push(Event { watch: number, name, is_dir, whole, moved });
                        }
                    }
                }
            }
        }
        for number in gone {
            self.nodes.remove(&number);
            self.lost.remove(&number);
        }
        drained
    }
}

impl Node {
    pub(super) fn new(zone: usize, path: &RelPath, trail: &Trail, bares: &[RelPath]) -> Self {
        Node {
            zone,
            path: path.clone(),
            trail: trail.clone(),
            bares: bares.to_vec(),
            marks: Marks::default(),
            more: WatchFlags::empty(),
            id: (0, 0),
            batch: 0,
        }
    }
}

fn identity(dir: BorrowedFd<'_>) -> Result<(u64, u64), Errno> {
    rustix::fs::fstat(dir).map(|stat| (stat.st_dev, stat.st_ino))
}

fn watch(inotify: &OwnedFd, dir: BorrowedFd<'_>, more: WatchFlags) -> Result<Number, Errno> {
    let flags = WatchFlags::CREATE
        | WatchFlags::MOVED_TO
        | WatchFlags::ONLYDIR
        | WatchFlags::EXCL_UNLINK
        | WatchFlags::MASK_ADD
        | more;
    inotify::add_watch(inotify, path_of(dir), flags)
}
