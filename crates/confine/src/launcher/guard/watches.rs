//! Which directories are watched, and where they are.

use std::collections::HashMap;
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

/// All watches.
#[derive(Debug)]
pub(super) struct Watches {
    /// `None` where the kernel gives out no more.
    inotify: Option<OwnedFd>,
    nodes: HashMap<Number, Node>,
}

impl Watches {
    pub(super) fn new() -> (Self, Option<Errno>) {
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        let (inotify, failed) = match inotify::init(flags) {
            Ok(fd) => (Some(fd), None),
            Err(errno) => (None, Some(errno)),
        };
        (Watches { inotify, nodes: HashMap::new() }, failed)
    }

    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.inotify.as_ref().map(AsFd::as_fd)
    }

    /// Watches an open directory. A directory that is watched already keeps its
    /// number, and `node` says where it is now, unless `keep` says otherwise.
    /// Returns the number, and whether it was known at that very place.
    pub(super) fn add(
        &mut self,
        dir: BorrowedFd<'_>,
        mut node: Node,
        keep: impl FnOnce(&Node) -> bool,
    ) -> Result<(Number, bool), Errno> {
        let Some(inotify) = &self.inotify else { return Err(Errno::MFILE) };
        // What more is watched is added to, never taken away.
        let number = watch(inotify, dir, WatchFlags::empty())?;
        let mut known = false;
        if let Some(old) = self.nodes.get(&number) {
            if keep(old) {
                return Ok((number, false));
            }
            known = old.zone == node.zone && old.path == node.path;
            (node.more, node.marks) = (old.more, old.marks);
        }
        self.nodes.insert(number, node);
        Ok((number, known))
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

    pub(super) fn node_mut(&mut self, number: Number) -> Option<&mut Node> {
        self.nodes.get_mut(&number)
    }

    /// Reads the events that are there.
    pub(super) fn drain(&mut self, sieve: &Sieve, buffer: &mut [MaybeUninit<u8>]) -> Drained {
        let mut drained = Drained::default();
        let Some(inotify) = &self.inotify else { return drained };
        let mut gone = Vec::new();
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
                    let name = name.to_vec();
                    let event = Event { watch: number, name, is_dir, whole, moved };
                    if drained.events.last() != Some(&event) {
                        drained.events.push(event);
                    }
                }
            }
        }
        for number in gone {
            self.nodes.remove(&number);
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
        }
    }
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
