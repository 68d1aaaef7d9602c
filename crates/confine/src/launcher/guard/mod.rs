//! Guards files of writable zones that would run code later.
//!
//! What exists is found before the first command and made read-only where the
//! backend can. What does not exist yet is caught as it appears: every directory
//! is watched, and an entry that the policy guards is taken away at once and
//! kept in the quarantine. Files that ordinary git writes are judged by what is
//! in them, and put back as they were where they turn bad.
//!
//! Commands run while the keeper looks, and may be hostile. So nothing is done
//! by path: every step goes from one open directory to the next without
//! following a link, and what is read, removed or changed lies in the zone,
//! where the command could have done the same. An event is only a hint to look;
//! what counts is what is there. A directory is watched before it is listed, and
//! listed again when it moves, so whatever a command renames meanwhile, the last
//! event leads to where things are.
//!
//! While no command runs, in this session or another one of the user's, what changes is
//! the user's own doing, and taken in as if it had been there from the start.

mod before;
mod descent;
mod directories;
mod held;
mod history;
mod judge;
mod keys;
mod leads;
mod objects;
mod references;
mod rules;
mod sieve;
mod take;
mod walk;
mod watches;

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use rustix::event::epoll;
use rustix::fs::{AtFlags, Mode, OFlags, statat};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use zonekeep_policy::path::{RelPath, escape};

use self::before::Before;
use self::directories::Directories;
use self::held::Held;
use self::history::{History, Maker};
use self::judge::Ward;
use self::keys::Keys;
use self::rules::Rules;
use self::sieve::{Class, Sieve};
use self::walk::View;
use self::watches::{Event, Number, Watches};
use super::tree::Fixed;
use super::{Trouble, Try};
use crate::activity::{Quiet, Runs};
use crate::plan::{Access, Backend, Plan, Watch};
use crate::quarantine::Room;
use crate::report::Caught;

/// The longest path below a zone that is looked at, in bytes: the longest that
/// programs can use.
const MAX_PATH: usize = 4096;
/// How many events are read before the keeper looks at its other duties.
const MAX_EVENTS: usize = 20_000;
/// How long a file may look bad while it is being written, and how long the
/// keeper waits before it looks again at what it could not take away.
const PATIENCE: Duration = Duration::from_millis(50);
/// How long a file that may become one of a commit may be written.
const WRITING: Duration = Duration::from_secs(1);
/// How long it waits before it looks whether commands of others still run.
const WAIT: Duration = Duration::from_millis(20);
/// How much time lies between two looks at everything, when events get lost.
const SWEEP_EVERY: Duration = Duration::from_millis(500);
/// How long a report waits for events to end.
const SETTLE: Duration = Duration::from_secs(2);

/// A writable zone.
#[derive(Debug)]
struct Zone {
    host: PathBuf,
    at: PathBuf,
    root: OwnedFd,
}

/// An entry to be looked at again.
#[derive(Debug)]
struct Later {
    due: Instant,
    zone: usize,
    /// The watch of its directory; 0 where that does not matter.
    watch: Number,
    path: RelPath,
    bares: Vec<RelPath>,
    class: Class,
}

/// The guard of all writable zones of a sandbox.
#[derive(Debug)]
pub(crate) struct Guard {
    zones: Vec<Zone>,
    rules: Rules,
    watches: Watches,
    before: Before,
    held: Held,
    keys: Keys,
    /// Directories that have `.git` in them.
    work_trees: HashSet<(usize, RelPath)>,
    /// Those among them that were found while commands could run, and are not in the
    /// history yet.
    found_trees: Vec<(usize, RelPath)>,
    directories: Directories,
    /// Guarded directories that commands made, whose files are judged one by one.
    made: BTreeSet<(usize, RelPath)>,
    /// The commits that commands did not make.
    history: History,
    fixed: Vec<Fixed>,
    /// Whether what is fixed is read-only for commands.
    has_own_tree: bool,
    git_may_configure: bool,
    /// The caller's home directory.
    home: PathBuf,
    quarantine: PathBuf,
    /// When the command began.
    since: SystemTime,
    later: Vec<Later>,
    /// Directories that were not where they were thought to be, and when to look
    /// everywhere if nothing has led to them until then.
    strays: Vec<(Instant, Number)>,
    /// Whether events were lost, so that everything has to be looked at.
    must_sweep: bool,
    swept: Option<Instant>,
    unwatched: Option<String>,
    /// By what to tell whether commands run; without it they always may.
    quiet: Option<Quiet>,
    /// Whether what is still to be looked at has come up while none of this session ran.
    between: bool,
    /// Whether changes are left unread until those of other sessions have ended.
    waits: bool,
    /// Whether the command has ended, and its whole change is judged.
    settles: bool,
    timer: OwnedFd,
    poll: OwnedFd,
    buffer: Vec<MaybeUninit<u8>>,
}

impl Guard {
    /// Looks at all writable zones and watches them.
    pub(crate) fn start(plan: &Plan, watch: &Watch, quiet: Option<Quiet>) -> Result<Self, Trouble> {
        let what = || "watch the writable directories".to_owned();
        // What a command plants must be removed, and what is removed must be kept.
        let zones = zones(plan)?;
        let hosts: Vec<PathBuf> = zones.iter().map(|zone| zone.host.clone()).collect();
        Room::of(&watch.quarantine, &hosts).check().during(|| "guard files".to_owned())?;
        let (watches, failed) = Watches::new();
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags).during(what)?;
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC).during(what)?;
        let data = epoll::EventData::new_u64(0);
        for fd in [Some(timer.as_fd()), watches.fd()].into_iter().flatten() {
            epoll::add(&poll, fd, data, epoll::EventFlags::IN).during(what)?;
        }
        let mut guard = Guard {
            zones,
            rules: Rules::new(&watch.guards),
            watches,
            before: Before::default(),
            held: Held::new(&watch.quarantine, hosts),
            keys: Keys::default(),
            work_trees: HashSet::new(),
            found_trees: Vec::new(),
            directories: Directories::default(),
            made: BTreeSet::new(),
            history: History::new(&watch.git, &watch.quarantine, Sieve::new(&watch.guards)),
            fixed: Vec::new(),
            has_own_tree: plan.backend.has_own_tree(),
            git_may_configure: watch.git_may_configure,
            home: watch.home.clone(),
            quarantine: watch.quarantine.clone(),
            since: SystemTime::now(),
            later: Vec::new(),
            strays: Vec::new(),
            must_sweep: false,
            swept: None,
            unwatched: None,
            // Without a sandbox a process may outlive its command.
            quiet: quiet.filter(|_| plan.backend != Backend::None),
            between: false,
            waits: false,
            settles: false,
            timer,
            poll,
            buffer: vec![MaybeUninit::uninit(); 64 * 1024],
        };
        if let Some(errno) = failed {
            guard.miss(errno);
        }
        guard.walk_all(View::Start);
        guard.walk_for_more(View::Start);
        let hosts: Vec<PathBuf> = guard.zones.iter().map(|zone| zone.host.clone()).collect();
        let hosts = hosts.iter().map(PathBuf::as_path);
        let alone = guard.quiet.as_ref().is_some_and(|quiet| !quiet.others_run(hosts));
        let session = guard.quiet.as_ref().map_or(0, Quiet::own);
        guard.history.start(alone, session);
        if guard.has_own_tree {
            guard.keep_in_place();
        }
        let mut seen = BTreeSet::new();
        guard.fixed.retain(|path| seen.insert((path.zone.clone(), path.below.clone())));
        // A mount covers those in it.
        guard.fixed.sort_by_key(|path| match path.access {
            Access::Rw => path.below.components().count(),
            Access::Ro => usize::MAX,
        });
        Ok(guard)
    }

    /// Goes through everything again as long as configurations name further files to
    /// guard, which may include more.
    fn walk_for_more(&mut self, view: View) {
        for _ in 0..4 {
            if !std::mem::take(&mut self.must_sweep) {
                break;
            }
            self.walk_all(view);
        }
    }

    /// Returns what is to be made read-only.
    pub(crate) fn fixed(&self) -> &[Fixed] {
        &self.fixed
    }

    /// Returns the repositories that a command has removed but for files that are read-only
    /// for it, as paths of its tree.
    pub(crate) fn half_removed(&self) -> Vec<String> {
        let configs = self.fixed.iter().filter(|fixed| fixed.below.ends_with(".git/config"));
        let half_removed = configs.filter_map(|fixed| {
            let zone = self.zones.iter().find(|zone| zone.at == fixed.zone)?;
            let config = zone.host.join(&fixed.below);
            // Every repository has it.
            let is_whole = config.with_file_name("HEAD").symlink_metadata().is_ok();
            let tree = fixed.below.parent()?.parent()?;
            (!is_whole && config.is_file()).then(|| zone.at.join(tree))
        });
        half_removed.map(|tree| escape(tree.as_os_str().as_bytes())).collect()
    }

    /// Returns what can be polled for events.
    pub(crate) fn events(&self) -> BorrowedFd<'_> {
        if self.waits { self.timer.as_fd() } else { self.poll.as_fd() }
    }

    /// Returns what cannot be watched, and why; it is looked at when a command
    /// has ended.
    pub(crate) fn unwatched(&self) -> Option<&str> {
        self.unwatched.as_deref()
    }

    /// Returns what the kernel tells of changes by, where it does.
    pub(crate) fn hears_by(&self) -> Option<BorrowedFd<'_>> {
        self.watches.fd()
    }

    /// Never takes anything for the user's from now on: not all that ran has ended.
    pub(crate) fn distrust(&mut self) {
        self.quiet = None;
    }

    /// Takes in what has changed while no command runs, also what is not watched if
    /// `all` says so; else returns whose do.
    fn take_in(&mut self, all: bool) -> Result<(), Runs> {
        // What commands have left to be looked at comes first.
        let is_clear = self.strays.is_empty() && !self.must_sweep;
        if !self.later.is_empty() || !self.between && !is_clear {
            return Err(Runs::Own);
        }
        let quiet = self.quiet.take().ok_or(Runs::Own)?;
        let hosts: Vec<PathBuf> = self.zones.iter().map(|zone| zone.host.clone()).collect();
        let taken = quiet.during(hosts.iter().map(PathBuf::as_path), || {
            self.act(View::Between);
            self.look_for_strays(Instant::now());
            if self.must_sweep || all && self.unwatched.is_some() {
                self.must_sweep = true;
                self.strays.clear();
                self.walk_for_more(View::Between);
            }
            self.keys.relock();
            // The record of one that a command of another sandbox made says so.
            for (zone, path) in std::mem::take(&mut self.found_trees) {
                if let Some(tree) = self.host_path(zone, &path) {
                    self.history.add(&tree, Maker::User);
                }
            }
            self.directories.end_command();
        });
        self.quiet = Some(quiet);
        self.between = taken != Err(Runs::Own);
        taken
    }

    /// Takes in all that has changed before a command starts, however much it is.
    pub(crate) fn take_all_in(&mut self) {
        let since = Instant::now();
        self.since = SystemTime::now();
        if self.take_in(true).is_ok() {
            self.history.take_in();
        }
        while self.take_in(true).is_ok() && self.watches.has_more() && since.elapsed() < SETTLE {}
        self.set_timer();
    }

    /// Acts on all that has happened, without waiting.
    pub(crate) fn look(&mut self) {
        let taken = self.take_in(false);
        self.waits = taken == Err(Runs::Others);
        if taken != Err(Runs::Own) {
            return self.set_timer();
        }
        self.act(View::Passing);
        let now = Instant::now();
        self.look_again(|later| later.due <= now);
        self.look_for_strays(now);
        let rested = self.swept.is_none_or(|swept| swept.elapsed() >= SWEEP_EVERY);
        if self.must_sweep && rested {
            self.sweep(View::Passing);
        }
        self.keys.relock();
        self.set_timer();
    }

    /// Catches what is still to be caught, writes it to the quarantine, and
    /// returns all that was caught since the last time.
    pub(crate) fn settle(&mut self) -> Vec<Caught> {
        let since = Instant::now();
        (self.between, self.waits) = (false, false);
        while self.act(View::Passing) && since.elapsed() < SETTLE {}
        self.settles = true;
        for (zone, path) in std::mem::take(&mut self.found_trees) {
            self.add_made_tree(zone, &path);
        }
        // What is not read now could pass for the user's later.
        self.must_sweep |= self.watches.has_more();
        // Whoever has a file open, or another name of it, can change it unseen:
        // what counts is what is there now.
        let due = Instant::now();
        let seen = self.before.seen().map(|((zone, path), (bares, class))| Later {
            due,
            zone: *zone,
            watch: 0,
            path: path.clone(),
            bares: bares.clone(),
            class: *class,
        });
        let mut seen: Vec<Later> = seen.collect();
        // A directory before its files: it is caught as a whole.
        seen.sort_by(|a, b| (a.zone, &a.path).cmp(&(b.zone, &b.path)));
        self.later.extend(seen);
        self.look_again(|_| true);
        self.must_sweep |= self.keys.met() || self.watches.any_lost();
        if self.must_sweep || self.unwatched.is_some() {
            self.sweep(View::Whole);
        }
        self.settles = false;
        self.remove_empty();
        self.keys.relock();
        self.set_timer();
        self.directories.end_command();
        self.history.end_command();
        self.held.settle(&self.zones)
    }

    /// Returns where a path below a zone is on the host.
    fn host_path(&self, zone: usize, path: &RelPath) -> Option<PathBuf> {
        let zone = self.zones.get(zone)?;
        Some(zone.host.join(OsStr::from_bytes(path.as_bytes())))
    }

    /// Notes a directory with `.git` in it. One that was there before commands ran brings
    /// the commits that it has.
    fn add_work_tree(&mut self, zone: usize, path: &RelPath, view: View) {
        if !self.work_trees.insert((zone, path.clone())) {
            return;
        }
        match self.host_path(zone, path) {
            Some(tree) if view.trusts() => self.history.add(&tree, Maker::User),
            // By the end it has the commits that the command brings in.
            _ if !self.settles => self.found_trees.push((zone, path.clone())),
            _ => self.add_made_tree(zone, path),
        }
    }

    /// Keeps the directories of repositories where they are. Their hooks and settings are
    /// read-only, and a command that moves one away could put another repository in its place.
    /// One in which nothing is read-only, such as a clone that a command made, can go as a whole.
    fn keep_in_place(&mut self) {
        let mut kept = Vec::new();
        for (zone, path) in &self.work_trees {
            let Some(Zone { at, host, .. }) = self.zones.get(*zone) else { continue };
            let below = PathBuf::from(OsStr::from_bytes(path.join(b".git").as_bytes()));
            let holds = |fixed: &Fixed| fixed.zone == *at && fixed.below.starts_with(&below);
            let is_dir = host.join(&below).symlink_metadata().is_ok_and(|facts| facts.is_dir());
            if is_dir && (path.is_root() || self.fixed.iter().any(holds)) {
                kept.push(Fixed { zone: at.clone(), below, access: Access::Rw });
            }
        }
        self.fixed.extend(kept);
    }

    /// Adds a work tree that a command made, when the command has ended.
    fn add_made_tree(&mut self, zone: usize, path: &RelPath) {
        let Some(tree) = self.host_path(zone, path) else { return };
        let Some(Zone { host, .. }) = self.zones.get(zone) else { return };
        match self.directories.is_new(host, path) {
            true => self.history.add_clone(&tree, host),
            false => self.history.add(&tree, Maker::Command),
        }
    }

    /// Does the same for the last time: nothing runs any more.
    pub(crate) fn finish(&mut self) {
        self.settle();
    }

    /// Handles the events that are there; returns whether there were any.
    fn act(&mut self, view: View) -> bool {
        let mut buffer = std::mem::take(&mut self.buffer);
        let drained = self.watches.drain(&self.rules.sieve, &mut buffer);
        self.buffer = buffer;
        self.must_sweep |= drained.lost;
        for event in &drained.events {
            self.handle(event, view);
        }
        drained.any
    }

    fn handle(&mut self, event: &Event, view: View) {
        let Some(node) = self.watches.node_mut(event.watch) else { return };
        let new_tree =
            event.name.eq_ignore_ascii_case(b".git").then(|| (node.zone, node.path.clone()));
        let becomes_repository = node.marks.see(&event.name)
            && node.marks.are_of_a_repository()
            && !node.bares.iter().any(RelPath::is_root)
            && !node.path.file_name().is_some_and(|name| name.eq_ignore_ascii_case(b".git"));
        let (zone, trail, mut bares) = (node.zone, node.trail.clone(), node.bares.clone());
        let path = node.path.clone();
        if let Some((zone, path)) = new_tree {
            self.add_work_tree(zone, &path, view);
        }
        let Some(root) = self.zones.get(zone).map(|zone| zone.root.as_fd()) else { return };
        let dir = match self.keys.below(root, &path) {
            Ok(dir) if self.watches.is(event.watch, dir.as_fd()) => dir,
            // It moved, which is an event of its own; but when that is handled, it
            // may have moved on, or back to where it was.
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                return self.lose(event.watch);
            }
            Err(errno) => return self.miss(errno),
        };
        let mut place = walk::Place { zone, watch: event.watch, path, trail, bares: vec![] };
        if becomes_repository && bares.len() >= walk::MAX_NESTED && view.trusts() {
            return self.before.know(before::Identity::of(dir.as_fd(), b""));
        }
        if becomes_repository && bares.len() >= walk::MAX_NESTED {
            return self.catch_nested(zone, dir.as_fd(), &place.path);
        }
        if becomes_repository {
            bares.push(RelPath::root());
            if let Some(node) = self.watches.node_mut(event.watch) {
                node.bares.clone_from(&bares);
            }
            place.bares = bares;
            return self.walk_again(dir.as_fd(), place, view);
        }
        place.bares = bares;
        match event.is_dir {
            true => {
                let view = if event.moved || view.trusts() { view } else { View::Fresh };
                self.walk_below(dir.as_fd(), &place, &event.name, view);
            }
            false => {
                let class = self.rules.sieve.class(&place.trail, &event.name);
                let view = if event.whole && !view.trusts() { View::Written } else { view };
                self.look_at_entry(dir.as_fd(), &place, &event.name, class, view);
            }
        }
    }

    /// Takes a repository away that lies in too many others.
    fn catch_nested(&mut self, zone: usize, dir: BorrowedFd<'_>, path: &RelPath) {
        if self.before.knows(before::Identity::of(dir, b"")) {
            return;
        }
        let Some((above, name)) = path.split_last() else { return };
        let Some(root) = self.zones.get(zone).map(|zone| zone.root.as_fd()) else { return };
        let Ok(parent) = self.keys.below(root, &above) else { return };
        let (dir, bares, class) = (parent.as_fd(), &[][..], Class::Repository);
        let spot = judge::Spot { zone, dir, watch: 0, name, path, bares, class };
        self.catch_tree(&spot, &Ward::strict(walk::NESTED));
    }

    /// Looks again at entries that were put off.
    fn look_again(&mut self, is_due: impl Fn(&Later) -> bool) {
        let (due, later) = std::mem::take(&mut self.later).into_iter().partition(is_due);
        self.later = later;
        let due: Vec<Later> = due;
        for Later { zone, watch, path, bares, class, .. } in due {
            let Some((above, name)) = path.split_last() else { continue };
            let Some(root) = self.zones.get(zone).map(|zone| zone.root.as_fd()) else { continue };
            let dir = match self.keys.below(root, &above) {
                Ok(dir) => dir,
                Err(errno) => {
                    if matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP) {
                        self.lose(watch);
                        self.held.is_gone(zone, &path);
                        self.look_at_removed(zone, &path, &bares, class);
                    }
                    continue;
                }
            };
            if watch != 0 && !self.watches.is(watch, dir.as_fd()) {
                self.lose(watch);
            }
            let (dir, path, bares) = (dir.as_fd(), &path, &bares[..]);
            let spot = judge::Spot { zone, dir, watch: 0, name, path, bares, class };
            self.look_at(&spot, View::Whole);
            if matches!(statat(dir, name, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT)) {
                self.held.is_gone(zone, path);
                self.look_at_removed(zone, path, bares, class);
            }
        }
    }

    fn put_off(&mut self, spot: &judge::Spot<'_>, patience: Duration) {
        let known = |later: &Later| later.zone == spot.zone && later.path == *spot.path;
        if self.later.iter().any(known) {
            return;
        }
        self.later.push(Later {
            due: Instant::now() + patience,
            zone: spot.zone,
            watch: spot.watch,
            path: spot.path.clone(),
            bares: spot.bares.to_vec(),
            class: spot.class,
        });
    }

    /// Notes that something happened in a directory that is not where it was
    /// thought to be. Mostly it is about to be removed, or found.
    fn lose(&mut self, watch: Number) {
        self.watches.lose(watch);
        if self.watches.is_lost(watch) && !self.strays.iter().any(|(_, stray)| *stray == watch) {
            self.strays.push((Instant::now() + PATIENCE, watch));
        }
    }

    /// Has everything looked at where a directory has been lost for long.
    fn look_for_strays(&mut self, now: Instant) {
        self.strays.retain(|(_, stray)| self.watches.is_lost(*stray));
        self.must_sweep |= self.strays.iter().any(|(due, _)| *due <= now);
    }

    /// Looks at everything.
    fn sweep(&mut self, view: View) {
        self.must_sweep = false;
        // What is not found by this is in no zone any more; should it come back,
        // it is gone through.
        self.strays.clear();
        self.walk_all(view);
        self.swept = Some(Instant::now());
    }

    /// Has the keeper woken where something is to be looked at again.
    fn set_timer(&mut self) {
        let is_quiet = self.later.is_empty() && self.strays.is_empty();
        let wait = match (self.must_sweep, is_quiet) {
            _ if self.waits => WAIT,
            (_, false) => PATIENCE,
            (true, true) => SWEEP_EVERY,
            (false, true) => Duration::ZERO,
        };
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        let it_value = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) as _ };
        let timer = Itimerspec { it_interval: none, it_value };
        // Setting it also forgets that it went off.
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &timer);
    }

    /// Notes that something is not watched.
    fn miss(&mut self, errno: Errno) {
        let why = match errno {
            Errno::NOSPC => "the limit fs.inotify.max_user_watches is reached".to_owned(),
            Errno::MFILE => "the limit fs.inotify.max_user_instances is reached".to_owned(),
            errno => std::io::Error::from(errno).to_string(),
        };
        self.unwatched.get_or_insert_with(|| {
            format!("not all writable directories are watched while a command runs: {why}")
        });
    }
}

/// Opens the writable zones, those that lie in others last.
fn zones(plan: &Plan) -> Result<Vec<Zone>, Trouble> {
    let mut zones = Vec::new();
    for bind in plan.zones().filter(|bind| bind.access == Access::Rw) {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = match rustix::fs::open(&bind.host, flags, Mode::empty()) {
            // Whoever places it says that it is missing.
            Err(Errno::NOENT | Errno::NOTDIR) => continue,
            result => result.during(|| format!("open {}", bind.host.display()))?,
        };
        zones.push(Zone { host: bind.host.clone(), at: bind.at.clone(), root });
    }
    zones.sort_by_key(|zone| zone.host.as_os_str().len());
    Ok(zones)
}
