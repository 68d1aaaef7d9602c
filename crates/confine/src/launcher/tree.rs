//! Builds the tree that commands see, in namespaces of its own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
};
use serde::{Deserialize, Serialize};

use super::remount::{self, remount};
use super::{Trouble, Try, inotify};
use crate::plan::{Access, Bind, Entry, Identity, Plan, Role, text};
use crate::sys::{self, Attributes};

/// The name of the machine inside.
const HOSTNAME: &[u8] = b"zonekeep";
/// Devices of the host that do nothing but what their name says.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// Parts of `/proc` that steer the machine: readable, never writable.
pub(crate) const PROC_READ_ONLY: [&str; 5] = ["sys", "sysrq-trigger", "irq", "bus", "fs"];
/// Parts of `/proc` that tell about the machine or the kernel's memory.
pub(crate) const PROC_HIDDEN: [&str; 22] = [
    "acpi",
    "allocinfo",
    "asound",
    "config.gz",
    "driver",
    "interrupts",
    "kallsyms",
    "kcore",
    "key-users",
    "keys",
    "kmsg",
    "kpagecgroup",
    "kpagecount",
    "kpageflags",
    "latency_stats",
    "pagetypeinfo",
    "sched_debug",
    "scsi",
    "slabinfo",
    "timer_list",
    "timer_stats",
    "vmallocinfo",
];

/// Something of the host, ready to be placed: a mount that is nowhere yet.
#[derive(Debug)]
pub(crate) struct Source {
    mount: OwnedFd,
    is_dir: bool,
    /// Attributes to set once it is placed, where they cannot be set before.
    later: Option<Attributes<'static>>,
}

impl Source {
    /// Sets the attributes that it can only have in its place.
    fn settle(&self) -> io::Result<()> {
        match self.later {
            Some(attributes) => remount(self.mount.as_fd(), attributes, true),
            None => Ok(()),
        }
    }
}

/// All that comes from the host.
#[derive(Debug)]
pub(crate) struct Sources {
    /// For each bind of the plan; `None` for what is missing and may be.
    binds: Vec<Option<Source>>,
}

impl Sources {
    /// Takes hold of all that the plan names. With `owners`, files of zones and
    /// tools belong to whom that user namespace says; `None` where the file
    /// system of a zone cannot do that.
    pub(crate) fn take(
        plan: &Plan,
        owners: Option<BorrowedFd<'_>>,
    ) -> Result<Option<Self>, Trouble> {
        let mut binds = Vec::new();
        for bind in plan.binds() {
            let owners = owners.filter(|_| bind.role != Role::System);
            match take(bind, owners)? {
                Taken::Source(source) => binds.push(Some(source)),
                Taken::Missing => binds.push(None),
                Taken::Untranslated => return Ok(None),
            }
        }
        Ok(Some(Sources { binds }))
    }

    /// Returns for each bind that is there whether it is a directory.
    pub(crate) fn kinds(&self) -> Vec<Option<bool>> {
        self.binds.iter().map(|bind| bind.as_ref().map(|source| source.is_dir)).collect()
    }

    /// Returns what is there.
    pub(crate) fn mounts(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.binds.iter().flatten().map(|source| source.mount.as_fd())
    }

    /// Puts together again what [`kinds`](Self::kinds) and
    /// [`mounts`](Self::mounts) took apart.
    pub(crate) fn of(kinds: Vec<Option<bool>>, mounts: Vec<OwnedFd>) -> Option<Self> {
        let mut mounts = mounts.into_iter();
        let mut binds = Vec::new();
        for kind in kinds {
            binds.push(match kind {
                Some(is_dir) => Some(Source { mount: mounts.next()?, is_dir, later: None }),
                None => None,
            });
        }
        mounts.next().is_none().then_some(Sources { binds })
    }
}

/// What comes of taking something of the host.
enum Taken {
    Source(Source),
    /// It is not there, and need not be.
    Missing,
    /// The kernel, or its file system, cannot translate owners.
    Untranslated,
}

fn take(bind: &Bind, owners: Option<BorrowedFd<'_>>) -> Result<Taken, Trouble> {
    let what = || format!("take {}", bind.host.display());
    let mount = match clone_tree(&bind.host) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && bind.role != Role::Zone => {
            return Ok(Taken::Missing);
        }
        result => result.during(what)?,
    };
    let stat = rustix::fs::fstat(&mount).during(what)?;
    let found = Identity { device: stat.st_dev, inode: stat.st_ino };
    if bind.identity.is_some_and(|wanted| wanted != found) {
        let why = "another directory is there than the one that was opened";
        return Err(Trouble::new(what(), io::Error::other(why)));
    }
    let is_dir = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    if bind.role == Role::Zone && !is_dir {
        return Err(Trouble::new(what(), io::ErrorKind::NotADirectory.into()));
    }
    let attributes = Attributes {
        read_only: bind.access == Access::Ro,
        no_suid: true,
        no_dev: true,
        private: true,
        ..Attributes::default()
    };
    let later = match sys::set_mount(mount.as_fd(), Attributes { owners, ..attributes }, true) {
        Err(_) if owners.is_some() => return Ok(Taken::Untranslated),
        Err(error) if remount::is_needed(&error) => Some(attributes),
        result => {
            result.during(|| format!("set the rights of {}", bind.host.display()))?;
            None
        }
    };
    Ok(Taken::Source(Source { mount, is_dir, later }))
}

/// Whose mount namespace this process is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mounts {
    Host,
    /// Its own, see [`keep_apart`].
    Own,
}

/// Returns a handle of a zone that is as writable as the zone is, and no more.
pub(crate) fn handle(zone: &Bind, mounts: Mounts) -> Result<OwnedFd, Trouble> {
    let what = || format!("set the rights of {}", zone.host.display());
    let source = match take(zone, None)? {
        Taken::Source(source) => source,
        _ => return Err(Trouble::new("take a zone", io::ErrorKind::NotFound.into())),
    };
    match (source.later, mounts) {
        (None, _) => Ok(source.mount),
        (Some(_), Mounts::Host) => {
            Err(Trouble::new(what(), io::Error::from_raw_os_error(libc::ENOSYS)))
        }
        (Some(_), Mounts::Own) => {
            // Over the zone itself, and a copy of that is attached nowhere again.
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let place = rustix::fs::open(&zone.host, flags, Mode::empty()).during(what)?;
            attach(source.mount.as_fd(), place.as_fd(), Path::new("")).during(what)?;
            source.settle().during(what)?;
            clone_of(source.mount.as_fd()).during(what)
        }
    }
}

/// Keeps mounts that this process makes in a new mount namespace from the host's.
pub(crate) fn keep_apart() -> Result<(), Trouble> {
    use rustix::mount::MountPropagationFlags as Propagation;
    rustix::mount::mount_change("/", Propagation::REC | Propagation::PRIVATE)
        .during(|| "keep mounts apart from the host's".to_owned())
}

fn clone_tree(path: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    Ok(rustix::mount::open_tree(CWD, path, flags)?)
}

/// A path of a writable zone that exists, and that commands cannot move away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fixed {
    /// The zone's place in the tree.
    #[serde(with = "text")]
    pub(crate) zone: PathBuf,
    /// The path below it.
    #[serde(with = "text")]
    pub(crate) below: PathBuf,
    /// Whether it can still be written, as a directory that only stays where it is.
    pub(crate) access: Access,
}

/// What every tree has, not in its place yet.
#[derive(Debug)]
pub(crate) struct Ground {
    root: OwnedFd,
    proc: OwnedFd,
    terminals: OwnedFd,
    devices: Vec<(&'static str, Source)>,
}

impl Ground {
    /// Takes hold of the devices of the host that every tree has.
    pub(crate) fn devices() -> Result<Vec<(&'static str, Source)>, Trouble> {
        let take = |name: &'static str| {
            let path = Path::new("/dev").join(name);
            let what = || format!("take {}", path.display());
            let mount = clone_tree(&path).during(what)?;
            let attributes = Attributes { no_suid: true, no_exec: true, ..Attributes::default() };
            let later = match sys::set_mount(mount.as_fd(), attributes, false) {
                Err(error) if remount::is_needed(&error) => Some(attributes),
                result => {
                    result.during(|| format!("set the rights of {}", path.display()))?;
                    None
                }
            };
            Ok((name, Source { mount, is_dir: false, later }))
        };
        DEVICES.into_iter().map(take).collect()
    }

    /// Makes it in this process, which must be the first one of new namespaces,
    /// and hold every right in them.
    pub(crate) fn new(devices: Vec<(&'static str, Source)>) -> Result<Self, Trouble> {
        keep_apart()?;
        let root = memory(&[("size", "16m"), ("mode", "0755")])
            .during(|| "make an empty root".to_owned())?;
        let proc = new_mount("proc", &[], MountAttrFlags::MOUNT_ATTR_NOEXEC)
            .during(|| "mount /proc".to_owned())?;
        // No more user namespaces below this one.
        set(&proc, "sys/user/max_user_namespaces", "0")
            .during(|| "close user namespaces".to_owned())?;
        inotify::limit(proc.as_fd()).during(|| "limit watches for files".to_owned())?;
        let options = [("ptmxmode", "0666"), ("mode", "0620")];
        let terminals = new_mount("devpts", &options, MountAttrFlags::MOUNT_ATTR_NOEXEC)
            .during(|| "mount /dev/pts".to_owned())?;
        rustix::system::sethostname(HOSTNAME).during(|| "name the machine".to_owned())?;
        // Where keyrings are not to be had, or are refused, commands have none either.
        match sys::new_keyring() {
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {}
            result => result.during(|| "leave the caller's keyring".to_owned())?,
        }
        Ok(Ground { root, proc, terminals, devices })
    }

    /// Builds the tree of a plan and makes it the root of this process; `/tmp` is `tmp`,
    /// where that can be used. What is `fixed` is asked for last. Returns a mount of `/tmp`
    /// for another tree.
    pub(crate) fn build(
        self,
        plan: &Plan,
        sources: Sources,
        tmp: Option<OwnedFd>,
        fixed: impl FnOnce() -> Result<Vec<Fixed>, Trouble>,
    ) -> Result<Option<OwnedFd>, Trouble> {
        let Ground { root, proc, terminals, devices } = self;
        let scratch = Scratch::new(plan)?;
        let root = Root::new(root, &scratch)?;
        root.proc_dir(&proc, plan)?;
        root.devices(devices, &terminals, &scratch)?;
        // Commands of the other tree can put links in the way of what is placed below it.
        let tmp_at = Path::new("/tmp");
        let mut all = plan.entries.iter().map(Entry::at).chain([plan.home.as_path()]);
        let can_share = !all.any(|at| at.starts_with(tmp_at));
        match tmp.filter(|_| can_share) {
            Some(tmp) if root.share(&tmp, tmp_at).is_ok() => {}
            _ => scratch.place(&root, "tmp", tmp_at, 0o1777)?,
        }
        scratch.place(&root, "run", Path::new("/run"), 0o755)?;
        // Where that cannot be had, the next tree has its own.
        let spare = can_share.then(|| clone_alone(&root.mount, "tmp").ok()).flatten();
        let home_is_granted = plan.zones().any(|zone| plan.home.starts_with(&zone.at));
        if !home_is_granted {
            scratch.place(&root, "home", &plan.home, 0o700)?;
        }
        let mut binds = sources.binds.into_iter();
        for (number, entry) in plan.entries.iter().enumerate() {
            match entry {
                Entry::Bind(bind) => {
                    if let Some(source) = binds.next().flatten() {
                        root.pin_above(plan, bind)?;
                        root.place(source, &bind.at)?;
                    }
                }
                Entry::Link { at, to } => root.link(at, to)?,
                Entry::Private { at } => {
                    scratch.place(&root, &format!("private-{number}"), at, 0o700)?
                }
                Entry::File { at, content } => root.file(at, content.as_bytes())?,
            }
        }
        for path in fixed()? {
            root.fix(&path)?;
        }
        // Last, so that nothing shows it again.
        root.hide(plan.rules.hidden.iter().cloned())?;
        let attributes = Attributes { read_only: true, ..Attributes::default() };
        set_attached(root.mount.as_fd(), attributes, false)
            .during(|| "make the root read-only".to_owned())?;
        enter(&root)?;
        Ok(spare)
    }
}

/// The new root, mounted where nothing is needed any more.
struct Root {
    mount: OwnedFd,
    /// Devices of file systems that this tree made, and may make names in.
    own: Vec<u64>,
    /// Directories that this tree made and nothing was placed over since.
    made: RefCell<HashMap<PathBuf, Rc<OwnedFd>>>,
}

impl Root {
    fn new(mount: OwnedFd, scratch: &Scratch) -> Result<Self, Trouble> {
        let what = || "make an empty root".to_owned();
        attach(mount.as_fd(), scratch.mount.as_fd(), Path::new("")).during(what)?;
        let device = |mount: &OwnedFd| Ok::<_, io::Error>(rustix::fs::fstat(mount)?.st_dev);
        let own = vec![device(&mount).during(what)?, device(&scratch.mount).during(what)?];
        let top = Rc::new(mount.try_clone().during(what)?);
        let made = HashMap::from([(PathBuf::from("/"), top)]);
        Ok(Root { mount, own, made: RefCell::new(made) })
    }

    /// Fails unless names may be made in a directory: nothing is ever made in
    /// what belongs to the host.
    fn may_make_in(&self, parent: &OwnedFd) -> io::Result<()> {
        let device = rustix::fs::fstat(parent)?.st_dev;
        match self.own.contains(&device) {
            true => Ok(()),
            false => Err(io::ErrorKind::ReadOnlyFilesystem.into()),
        }
    }

    /// Opens what is at a path, without following links out of the tree.
    fn open(&self, at: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let below = below_root(at);
        let flags = flags | OFlags::CLOEXEC;
        let resolve = rustix::fs::ResolveFlags::IN_ROOT | rustix::fs::ResolveFlags::NO_MAGICLINKS;
        Ok(rustix::fs::openat2(&self.mount, below, flags, Mode::empty(), resolve)?)
    }

    /// Returns a directory that this tree made, and makes it where there is
    /// nothing; `None` where there is something that it did not make.
    fn own_directory(&self, at: &Path) -> io::Result<Option<Rc<OwnedFd>>> {
        if let Some(made) = self.made.borrow().get(at) {
            return Ok(Some(Rc::clone(made)));
        }
        let Some((parent, name)) = self.own_place(at)? else { return Ok(None) };
        match rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o755)) {
            Err(rustix::io::Errno::EXIST) => return Ok(None),
            result => result?,
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = Rc::new(rustix::fs::openat(&parent, name, flags, Mode::empty())?);
        self.made.borrow_mut().insert(at.to_owned(), Rc::clone(&made));
        Ok(Some(made))
    }

    /// Returns the directory that a name belongs in, if this tree made it.
    fn own_place<'p>(&self, at: &'p Path) -> io::Result<Option<(Rc<OwnedFd>, &'p OsStr)>> {
        let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else { return Ok(None) };
        Ok(self.own_directory(parent)?.map(|parent| (parent, name)))
    }

    /// Returns the directory that a name belongs in, where names may be made.
    fn place_of<'p>(&self, at: &'p Path) -> io::Result<(Rc<OwnedFd>, &'p OsStr)> {
        if let Some(own) = self.own_place(at)? {
            return Ok(own);
        }
        let parent = self.directory(at.parent().unwrap_or(Path::new("/")), 0o755)?;
        self.may_make_in(&parent)?;
        Ok((parent, at.file_name().ok_or(io::ErrorKind::InvalidInput)?))
    }

    /// Opens a directory, and makes it and those on the way to it where they are
    /// missing.
    fn directory(&self, at: &Path, mode: u32) -> io::Result<Rc<OwnedFd>> {
        let known = self.made.borrow().contains_key(at);
        if let Some(made) = self.own_directory(at)? {
            if !known && mode != 0o755 {
                let (parent, name) = self.place_of(at)?;
                rustix::fs::chmodat(&parent, name, Mode::from_raw_mode(mode), AtFlags::empty())?;
            }
            return Ok(made);
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        match self.open(at, flags) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => return result.map(Rc::new),
        }
        let (parent, name) = self.place_of(at)?;
        rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o755))?;
        if mode != 0o755 {
            rustix::fs::chmodat(&parent, name, Mode::from_raw_mode(mode), AtFlags::empty())?;
        }
        self.open(at, flags).map(Rc::new)
    }

    /// Makes an empty file to mount over, unless something is there; returns
    /// whether it was made.
    fn empty_file(&self, at: &Path) -> io::Result<bool> {
        if self.own_place(at)?.is_none() && self.open(at, OFlags::PATH | OFlags::NOFOLLOW).is_ok() {
            return Ok(false);
        }
        let (parent, name) = self.place_of(at)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        match rustix::fs::openat(&parent, name, flags, Mode::from_raw_mode(0o644)) {
            Ok(_) => Ok(true),
            Err(rustix::io::Errno::EXIST) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    fn place(&self, source: Source, at: &Path) -> Result<(), Trouble> {
        let what = || format!("place {}", at.display());
        if !source.is_dir && self.empty_file(at).during(what)? {
            // It is empty and nobody's but ours, so there is no link to follow.
            let (parent, name) = self.place_of(at).during(what)?;
            attach(source.mount.as_fd(), parent.as_fd(), Path::new(name)).during(what)?;
        } else {
            if source.is_dir {
                self.directory(at, 0o755).during(what)?;
            }
            self.cover(source.mount.as_fd(), at).during(what)?;
        }
        source.settle().during(|| format!("set the rights of {}", at.display()))
    }

    /// Makes the directories between a zone and one that lies in it immovable:
    /// else another could be put in the place of the inner one.
    fn pin_above(&self, plan: &Plan, inner: &Bind) -> Result<(), Trouble> {
        let outer = plan.zones().filter(|outer| {
            outer.access == Access::Rw && outer.at != inner.at && inner.at.starts_with(&outer.at)
        });
        let Some(outer) = outer.max_by_key(|outer| outer.at.components().count()) else {
            return Ok(());
        };
        let mut between: Vec<&Path> = inner.at.ancestors().skip(1).collect();
        between.retain(|path| path.starts_with(&outer.at) && *path != outer.at);
        for path in between.into_iter().rev() {
            let what = || format!("keep {} in its place", path.display());
            let target = self.open(path, OFlags::PATH | OFlags::DIRECTORY).during(what)?;
            let mount = clone_of(target.as_fd()).during(what)?;
            attach(mount.as_fd(), target.as_fd(), Path::new("")).during(what)?;
        }
        Ok(())
    }

    /// Mounts something over a path that exists.
    fn cover(&self, mount: BorrowedFd<'_>, at: &Path) -> io::Result<()> {
        let made = self.made.borrow_mut().remove(at);
        match made {
            Some(target) => {
                // What was made below it is out of sight from now on.
                self.made.borrow_mut().retain(|path, _| !path.starts_with(at));
                attach(mount, target.as_fd(), Path::new(""))
            }
            None => attach(mount, self.open(at, OFlags::PATH)?.as_fd(), Path::new("")),
        }
    }

    /// Mounts a directory of another tree.
    fn share(&self, mount: &OwnedFd, at: &Path) -> io::Result<()> {
        self.directory(at, 0o755)?;
        self.cover(mount.as_fd(), at)
    }

    fn link(&self, at: &Path, to: &Path) -> Result<(), Trouble> {
        let what = || format!("place the link {}", at.display());
        let own = self.own_place(at).during(what)?.is_some();
        if !own && self.open(at, OFlags::PATH | OFlags::NOFOLLOW).is_ok() {
            return Ok(());
        }
        let (parent, name) = self.place_of(at).during(what)?;
        match rustix::fs::symlinkat(to, &parent, name) {
            Err(rustix::io::Errno::EXIST | rustix::io::Errno::ROFS) => Ok(()),
            result => result.during(what),
        }
    }

    fn file(&self, at: &Path, content: &[u8]) -> Result<(), Trouble> {
        let what = || format!("write {}", at.display());
        let (parent, name) = self.place_of(at).during(what)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let file =
            rustix::fs::openat(&parent, name, flags, Mode::from_raw_mode(0o644)).during(what)?;
        io::Write::write_all(&mut std::fs::File::from(file), content).during(what)
    }

    /// Makes the name of a path immovable, and what is there read-only where it is to be.
    fn fix(&self, path: &Fixed) -> Result<(), Trouble> {
        let what = || format!("guard {}", path.zone.join(&path.below).display());
        let zone = self.open(&path.zone, OFlags::PATH | OFlags::DIRECTORY).during(what)?;
        let resolve = rustix::fs::ResolveFlags::BENEATH | rustix::fs::ResolveFlags::NO_SYMLINKS;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let target = match rustix::fs::openat2(&zone, &path.below, flags, Mode::empty(), resolve) {
            // It went away since it was found, or became a link, which the
            // keeper sees.
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::LOOP) => return Ok(()),
            result => result.during(what)?,
        };
        let mount = clone_of(target.as_fd()).during(what)?;
        match path.access {
            Access::Ro => attach_read_only(mount.as_fd(), target.as_fd()),
            Access::Rw => attach(mount.as_fd(), target.as_fd(), Path::new("")),
        }
        .during(what)
    }

    fn proc_dir(&self, proc: &OwnedFd, plan: &Plan) -> Result<(), Trouble> {
        let what = || "mount /proc".to_owned();
        let at = Path::new("/proc");
        self.directory(at, 0o755).during(what)?;
        self.cover(proc.as_fd(), at).during(what)?;
        // As many processes as the limit says, where the kernel counts them for
        // each namespace.
        if let Some(processes) = plan.limits.processes {
            // KERNEL(6.14): before that it is one number for the machine, and
            // not ours to write.
            let _ = set(proc, "sys/kernel/pid_max", &processes.saturating_add(400).to_string());
        }
        // Memory that belongs to no process counts too.
        let pages = plan.limits.tmp.unwrap_or(u64::MAX) / sys::page_size();
        let _ = set(proc, "sys/kernel/shmall", &pages.to_string());
        for name in PROC_READ_ONLY {
            let path = at.join(name);
            let Ok(target) = self.open(&path, OFlags::PATH) else { continue };
            let what = || format!("protect {}", path.display());
            let mount = clone_of(target.as_fd()).during(what)?;
            attach_read_only(mount.as_fd(), target.as_fd()).during(what)?;
        }
        Ok(())
    }

    fn devices(
        &self,
        devices: Vec<(&'static str, Source)>,
        terminals: &OwnedFd,
        scratch: &Scratch,
    ) -> Result<(), Trouble> {
        let dev = Path::new("/dev");
        self.directory(dev, 0o755).during(|| "make /dev".to_owned())?;
        self.hide(PROC_HIDDEN.map(|name| Path::new("/proc").join(name)))?;
        for (name, source) in devices {
            self.place(source, &dev.join(name))?;
        }
        for (name, to) in [
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
            ("ptmx", "pts/ptmx"),
        ] {
            self.link(&dev.join(name), Path::new(to))?;
        }
        let what = || "mount /dev/pts".to_owned();
        let pts = dev.join("pts");
        self.directory(&pts, 0o755).during(what)?;
        self.cover(terminals.as_fd(), &pts).during(what)?;
        scratch.place(self, "shm", &dev.join("shm"), 0o1777)
    }

    /// Puts something that nobody can open over paths that tell too much.
    fn hide(&self, paths: impl IntoIterator<Item = PathBuf>) -> Result<(), Trouble> {
        let what = || "make something that cannot be opened".to_owned();
        let (file, dir) = (Path::new("/.closed-file"), Path::new("/.closed-dir"));
        self.empty_file(file).during(what)?;
        rustix::fs::chmodat(&self.mount, below_root(file), Mode::empty(), AtFlags::empty())
            .during(what)?;
        rustix::fs::mkdirat(&self.mount, below_root(dir), Mode::empty()).during(what)?;
        let [file_at, dir_at] = [file, dir].map(|path| self.open(path, OFlags::PATH));
        let (file_at, dir_at) = (file_at.during(what)?, dir_at.during(what)?);
        for path in paths {
            let what = || format!("hide {}", path.display());
            let target = match self.open(&path, OFlags::PATH | OFlags::NOFOLLOW) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened.during(what)?,
            };
            let stat = rustix::fs::fstat(&target).during(what)?;
            let closed = match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => &dir_at,
                _ => &file_at,
            };
            let mount = clone_of(closed.as_fd()).during(what)?;
            attach_read_only(mount.as_fd(), target.as_fd()).during(what)?;
        }
        rustix::fs::unlinkat(&self.mount, below_root(file), AtFlags::empty()).during(what)?;
        rustix::fs::unlinkat(&self.mount, below_root(dir), AtFlags::REMOVEDIR).during(what)
    }
}

/// How many private files there may be, where little memory is allowed for them.
const FEWEST_FILES: u64 = 4096;
/// How many there may be at most.
const MOST_FILES: u64 = 1_000_000;

/// One piece of memory for everything that is private and can be written.
///
/// It is below the new root, over a directory of the old one that is not needed
/// any more, and goes with that: to take it away by itself would mean to wait
/// until no processor looks at it any more.
struct Scratch {
    mount: OwnedFd,
}

impl Scratch {
    fn new(plan: &Plan) -> Result<Self, Trouble> {
        let what = || "make private memory".to_owned();
        let size = plan.limits.tmp.map_or("50%".to_owned(), |bytes| bytes.to_string());
        // An empty file takes memory as well.
        let files = plan.limits.tmp.map_or(MOST_FILES, |bytes| bytes / 4096);
        let files = files.clamp(FEWEST_FILES, MOST_FILES).to_string();
        let mount =
            memory(&[("size", &size), ("mode", "0755"), ("nr_inodes", &files)]).during(what)?;
        let places = ["/tmp", "/run", "/mnt", "/var", "/usr"];
        let place = places.into_iter().find(|place| Path::new(place).is_dir()).unwrap_or("/");
        attach(mount.as_fd(), CWD, Path::new(place)).during(what)?;
        Ok(Scratch { mount })
    }

    /// Places a new empty directory.
    fn place(&self, root: &Root, name: &str, at: &Path, mode: u32) -> Result<(), Trouble> {
        let what = || format!("place {}", at.display());
        rustix::fs::mkdirat(&self.mount, name, Mode::from_raw_mode(0o755)).during(what)?;
        if mode != 0o755 {
            let mode = Mode::from_raw_mode(mode);
            rustix::fs::chmodat(&self.mount, name, mode, AtFlags::empty()).during(what)?;
        }
        root.directory(at, 0o755).during(what)?;
        let mount = clone_alone(&self.mount, name).during(what)?;
        root.cover(mount.as_fd(), at).during(what)
    }
}

/// Makes the new root the root, and lets go of the old one.
fn enter(root: &Root) -> Result<(), Trouble> {
    let what = || "enter the tree".to_owned();
    rustix::process::fchdir(&root.mount).during(what)?;
    rustix::process::pivot_root(".", ".").during(what)?;
    rustix::mount::unmount(".", UnmountFlags::DETACH).during(what)?;
    rustix::process::chdir("/").during(what)
}

fn below_root(at: &Path) -> &Path {
    match at.strip_prefix("/") {
        Ok(below) if !below.as_os_str().is_empty() => below,
        _ => Path::new("."),
    }
}

/// Mounts a file system of the kernel's own, nowhere yet.
fn new_mount(kind: &str, options: &[(&str, &str)], more: MountAttrFlags) -> io::Result<OwnedFd> {
    let context = rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        rustix::mount::fsconfig_set_string(context.as_fd(), *key, *value)?;
    }
    rustix::mount::fsconfig_create(context.as_fd())?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV | more;
    // Devices of a terminal are devices.
    let attributes = match kind {
        "devpts" => attributes - MountAttrFlags::MOUNT_ATTR_NODEV,
        _ => attributes,
    };
    Ok(rustix::mount::fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

fn memory(options: &[(&str, &str)]) -> io::Result<OwnedFd> {
    new_mount("tmpfs", options, MountAttrFlags::empty())
}

/// Returns a mount of a directory without the mounts below it.
fn clone_alone(dir: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    Ok(rustix::mount::open_tree(dir, name, flags)?)
}

fn clone_of(target: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    Ok(rustix::mount::open_tree(target, "", flags)?)
}

fn attach(mount: BorrowedFd<'_>, to: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let mut flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    if path.as_os_str().is_empty() {
        flags |= MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    }
    let path = CString::new(path.as_os_str().as_bytes())?;
    Ok(rustix::mount::move_mount(mount, c"", to, path.as_c_str(), flags)?)
}

/// Mounts something over a file or directory, so that it cannot be written.
fn attach_read_only(mount: BorrowedFd<'_>, over: BorrowedFd<'_>) -> io::Result<()> {
    let attributes = Attributes { read_only: true, ..Attributes::default() };
    match sys::set_mount(mount, attributes, true) {
        Err(error) if remount::is_needed(&error) => {
            attach(mount, over, Path::new(""))?;
            remount(mount, attributes, true)
        }
        result => {
            result?;
            attach(mount, over, Path::new(""))
        }
    }
}

/// Sets attributes on a mount that is in its place.
fn set_attached(
    mount: BorrowedFd<'_>,
    attributes: Attributes<'_>,
    recursive: bool,
) -> io::Result<()> {
    match sys::set_mount(mount, attributes, recursive) {
        Err(error) if remount::is_needed(&error) => remount(mount, attributes, recursive),
        result => result,
    }
}

fn set(proc: &OwnedFd, path: &str, value: &str) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(proc, path, flags, Mode::empty())?;
    io::Write::write_all(&mut std::fs::File::from(file), value.as_bytes())
}
