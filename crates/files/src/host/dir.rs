//! One open directory of the host, and one open file.

use std::any::Any;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use zonekeep_policy::path::{RelPath, is_plain_name};
use zonekeep_policy::sensitive::Sensitive;

use super::{placing, sys};
use crate::fault::Fault;
use crate::lookup::link_target;
use crate::root::{Dir, File, Held, Kind, Lock, Meta, Overwrite, Source};

/// How long somebody else may hold a directory before we give up.
const PATIENCE: Duration = Duration::from_secs(5);

/// An open directory.
#[derive(Debug)]
pub(super) struct HostDir {
    fd: OwnedFd,
    real: RelPath,
    /// Whether the descriptor's own position is still at the start.
    fresh: AtomicBool,
    hidden: Arc<Sensitive>,
}

impl HostDir {
    pub(super) fn new(fd: OwnedFd, real: RelPath, hidden: Arc<Sensitive>) -> Self {
        HostDir { fd, real, fresh: AtomicBool::new(true), hidden }
    }

    fn see(&self, name: &[u8]) -> Result<(), Fault> {
        see(&self.hidden, &self.real.join(name))
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Says what a link is, and where it leads.
    fn link_fault(&self, name: &[u8]) -> Fault {
        let target = self.read_link(name).ok();
        Fault::Link { target: target.and_then(|target| link_target(&self.real, &target)) }
    }

    /// Returns the fault of an open that failed, by looking at what is there.
    fn open_fault(&self, name: &[u8], errno: Errno) -> Fault {
        match errno {
            // Systems differ in what they say about a link that is not followed.
            Errno::LOOP | Errno::NOTDIR | Errno::MLINK => match sys::stat(self.fd(), name) {
                Ok(meta) if meta.kind == Kind::Link => self.link_fault(name),
                Ok(_) => Fault::NotADirectory,
                Err(errno) => errno.into(),
            },
            errno => errno.into(),
        }
    }

    /// Checks that there is a file, or nothing, where a file is to be put.
    pub(super) fn file_or_nothing(&self, name: &[u8]) -> Result<Option<Meta>, Fault> {
        match sys::stat(self.fd(), name) {
            Ok(meta) => match meta.kind {
                Kind::File => Ok(Some(meta)),
                Kind::Dir => Err(Fault::IsDirectory),
                Kind::Link => Err(self.link_fault(name)),
                Kind::Special => Err(Fault::Special),
            },
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Makes the names in the directory durable, as far as the system can.
    pub(super) fn sync(&self) -> Result<(), Fault> {
        match rustix::fs::fsync(&self.fd) {
            Err(errno @ Errno::IO) => Err(errno.into()),
            _ => Ok(()),
        }
    }
}

/// Fails for a path without links in it that is hidden.
pub(super) fn see(hidden: &Sensitive, path: &RelPath) -> Result<(), Fault> {
    if hidden.hides(path) { Err(Fault::Sensitive) } else { Ok(()) }
}

/// Refuses what is not one name: `..` above all.
fn plain(name: &[u8]) -> Result<&[u8], Fault> {
    if is_plain_name(name) { Ok(name) } else { Err(Fault::Outside) }
}

impl Dir for HostDir {
    fn real_path(&self) -> &RelPath {
        &self.real
    }

    fn open_file(&self, name: &[u8]) -> Result<Box<dyn File>, Fault> {
        match sys::open_file(self.fd(), plain(name)?, OFlags::RDONLY) {
            Ok(fd) => {
                self.see(name)?;
                Ok(Box::new(HostFile::new(fd)?))
            }
            Err(errno) => Err(self.open_fault(name, errno)),
        }
    }

    fn open_dir(&self, name: &[u8]) -> Result<Box<dyn Dir>, Fault> {
        match sys::open_dir(self.fd(), plain(name)?) {
            Ok(fd) => {
                self.see(name)?;
                let hidden = Arc::clone(&self.hidden);
                Ok(Box::new(HostDir::new(fd, self.real.join(name), hidden)))
            }
            Err(errno) => Err(self.open_fault(name, errno)),
        }
    }

    fn stat(&self, name: &[u8]) -> Result<Meta, Fault> {
        Ok(sys::stat(self.fd(), plain(name)?)?)
    }

    fn meta(&self) -> Result<Meta, Fault> {
        Ok(sys::fstat(&self.fd)?)
    }

    fn read_link(&self, name: &[u8]) -> Result<Vec<u8>, Fault> {
        let target = rustix::fs::readlinkat(&self.fd, plain(name)?, Vec::new())?;
        Ok(target.into_bytes())
    }

    fn entries(&self, each: &mut dyn FnMut(&[u8], Kind) -> ControlFlow<()>) -> Result<(), Fault> {
        // The position in a listing belongs to the descriptor: it is good for
        // one pass, and every further one needs its own.
        if self.fresh.swap(false, Ordering::Relaxed) {
            match sys::each_entry(self.fd(), each) {
                // Opened only to pass through.
                Err(Fault::Io { source }) if Errno::from_io_error(&source) == Some(Errno::BADF) => {
                }
                other => return other,
            }
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let again = rustix::fs::openat(&self.fd, c".", flags, Mode::empty())?;
        sys::each_entry(again.as_fd(), each)
    }

    fn replace(
        &self,
        name: &[u8],
        source: Source<'_>,
        overwrite: Overwrite,
    ) -> Result<bool, Fault> {
        self.see(plain(name)?)?;
        placing::replace(self, name, source, overwrite)
    }

    fn append(&self, name: &[u8], content: &[u8]) -> Result<u64, Fault> {
        let access = OFlags::RDWR | OFlags::APPEND;
        let fd = match sys::open_file(self.fd(), plain(name)?, access) {
            Ok(fd) => fd,
            Err(errno) => return Err(self.open_fault(name, errno)),
        };
        self.see(name)?;
        let file = HostFile::new(fd)?;
        placing::append(self, name, &file, content)
    }

    fn make_dir(&self, name: &[u8]) -> Result<(), Fault> {
        self.see(plain(name)?)?;
        Ok(rustix::fs::mkdirat(&self.fd, name, Mode::from_raw_mode(0o777))?)
    }

    fn remove_file(&self, name: &[u8]) -> Result<(), Fault> {
        self.see(plain(name)?)?;
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) => Ok(()),
            // Some systems say "not permitted" for a directory.
            Err(errno @ Errno::PERM) => match sys::stat(self.fd(), name) {
                Ok(meta) if meta.kind == Kind::Dir => Err(Fault::IsDirectory),
                _ => Err(errno.into()),
            },
            Err(errno) => Err(errno.into()),
        }
    }

    fn remove_dir(&self, name: &[u8]) -> Result<(), Fault> {
        self.see(plain(name)?)?;
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR) {
            Err(Errno::EXIST) => Err(Fault::NotEmpty),
            other => Ok(other?),
        }
    }

    fn rename(
        &self,
        name: &[u8],
        to: &dyn Dir,
        to_name: &[u8],
        overwrite: Overwrite,
    ) -> Result<Option<()>, Fault> {
        // Under another name it would be seen.
        self.see(plain(name)?)?;
        if self.hidden.hides_in(&self.real.join(name)) {
            return Err(Fault::HoldsSensitive);
        }
        let Some(to) = to.as_any().downcast_ref::<HostDir>() else { return Ok(None) };
        to.see(plain(to_name)?)?;
        match placing::rename(self, name, to, to_name, overwrite) {
            Ok(()) => {
                to.sync()?;
                self.sync()?;
                Ok(Some(()))
            }
            Err(Errno::XDEV) => Ok(None),
            Err(Errno::INVAL) => Err(Fault::IntoItself),
            // A directory with entries is in the way.
            Err(Errno::NOTEMPTY) => Err(Fault::Exists),
            Err(errno) => Err(errno.into()),
        }
    }

    fn lock(&self) -> Result<Lock, Fault> {
        // Its own open of the directory, because the lock belongs to the open:
        // two threads with the same handle must keep each other out too.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = match rustix::fs::openat(&self.fd, c".", flags, Mode::empty()) {
            Ok(fd) => fd,
            // One may write in a directory that one may not list.
            Err(Errno::ACCESS) => return Ok(Lock::none()),
            Err(errno) => return Err(errno.into()),
        };
        let id = identity(&fd);
        let mut deadline = Instant::now() + PATIENCE;
        let mut pause = Duration::from_micros(50);
        loop {
            match rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {
                    own_locks().insert(id);
                    return Ok(Lock::new(HeldDir { fd: Some(fd), id }));
                }
                // A writer of this process holds it: that one ends, however slow the disk is.
                Err(Errno::WOULDBLOCK | Errno::INTR) if own_locks().contains(&id) => {
                    deadline = Instant::now() + PATIENCE;
                    thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(5));
                }
                Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < deadline => {
                    thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(5));
                }
                // Never a plain wait: a command could hold the lock for ever.
                Err(Errno::WOULDBLOCK | Errno::INTR) => return Err(Fault::Busy),
                // A file system without locks; callers check the content again.
                Err(_) => return Ok(Lock::none()),
            }
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The directories that this process has locked, by device and inode.
static OWN_LOCKS: Mutex<BTreeSet<(u64, u64)>> = Mutex::new(BTreeSet::new());

fn own_locks() -> MutexGuard<'static, BTreeSet<(u64, u64)>> {
    OWN_LOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

// Devices are numbers of another width on other systems.
#[allow(clippy::unnecessary_cast)]
fn identity(fd: &OwnedFd) -> (u64, u64) {
    rustix::fs::fstat(fd).map_or((0, 0), |stat| (stat.st_dev as u64, stat.st_ino))
}

/// The lock ends when the descriptor is closed.
#[derive(Debug)]
struct HeldDir {
    fd: Option<OwnedFd>,
    id: (u64, u64),
}

impl Drop for HeldDir {
    fn drop(&mut self) {
        // In this order: the next of this process notes itself after it has the lock.
        own_locks().remove(&self.id);
        self.fd = None;
    }
}

impl Held for HeldDir {}

/// An open regular file.
#[derive(Debug)]
pub(super) struct HostFile {
    fd: OwnedFd,
    meta: Meta,
}

impl HostFile {
    /// Takes a descriptor if it is of a regular file, by asking the descriptor.
    pub(super) fn new(fd: OwnedFd) -> Result<Self, Fault> {
        let meta = sys::fstat(&fd)?;
        match meta.kind {
            Kind::File => Ok(HostFile { fd, meta }),
            Kind::Dir => Err(Fault::IsDirectory),
            Kind::Link => Err(Fault::Link { target: None }),
            Kind::Special => Err(Fault::Special),
        }
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl File for HostFile {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Fault> {
        loop {
            match rustix::io::pread(&self.fd, &mut *buffer, offset) {
                Err(Errno::INTR) => {}
                other => return Ok(other?),
            }
        }
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.fd.as_fd())
    }
}
