//! Directories of the host.

mod dir;
mod placing;
mod sys;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use zonekeep_policy::path::RelPath;
use zonekeep_policy::sensitive::Sensitive;

use self::dir::{HostDir, HostFile};
use crate::fault::Fault;
use crate::lookup;
use crate::root::{Dir, File, Store};

/// How paths are looked up beneath the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// By the kernel, in one call that cannot leave the root.
    Openat2,
    /// Name by name, each from the handle of the directory before it.
    Walk,
}

/// An open directory of the host, and what is below it.
#[derive(Debug)]
pub struct HostStore {
    root: OwnedFd,
    lookup: Lookup,
    hidden: Arc<Sensitive>,
}

impl HostStore {
    /// Opens a directory. The path is the operator's, and links in it are followed.
    pub fn open(path: &Path) -> Result<Self, Fault> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self::from_fd(rustix::fs::openat(CWD, path, flags, Mode::empty())?))
    }

    /// Uses a directory that is open already.
    ///
    /// Picks the kernel's lookup where there is one: old kernels and some system
    /// call filters do not have it.
    pub fn from_fd(root: OwnedFd) -> Self {
        let lookup = match sys::can_look_up(root.as_fd()) {
            true => Lookup::Openat2,
            false => Lookup::Walk,
        };
        HostStore { root, lookup, hidden: Arc::default() }
    }

    /// Uses a given way to look paths up; both hold the same rules.
    #[must_use]
    pub fn with_lookup(mut self, lookup: Lookup) -> Self {
        self.lookup = lookup;
        self
    }

    /// Hides credentials: they can be neither opened nor changed, whichever link leads there.
    #[must_use]
    pub fn hiding(mut self, hidden: Sensitive) -> Self {
        self.hidden = Arc::new(hidden);
        self
    }

    /// Fails for a path without links in it that is hidden.
    fn see(&self, path: &RelPath) -> Result<(), Fault> {
        dir::see(&self.hidden, path)
    }

    fn dir(&self, fd: OwnedFd, real: RelPath) -> Box<dyn Dir> {
        Box::new(HostDir::new(fd, real, Arc::clone(&self.hidden)))
    }

    /// Returns how paths are looked up.
    pub fn lookup(&self) -> Lookup {
        self.lookup
    }

    /// Returns the path that the open directory has now: for the operator, and
    /// never to open anything by.
    pub fn host_path(&self) -> io::Result<PathBuf> {
        sys::path_of(self.root.as_fd())
    }

    /// Opens a directory below as a store of its own. No link is followed.
    pub fn subtree(&self, path: &RelPath) -> Result<Self, Fault> {
        let mut fd = sys::open_dir(self.root.as_fd(), b".")?;
        for name in path.names() {
            fd = sys::open_dir(fd.as_fd(), name)?;
        }
        Ok(HostStore { root: fd, lookup: self.lookup, hidden: Arc::clone(&self.hidden) })
    }

    /// Names what is missing for a file that a lookup in one call did not give.
    fn explain(&self, path: &RelPath) -> Result<Box<dyn File>, Fault> {
        let (parent, name) = path.split_last().ok_or(Fault::IsDirectory)?;
        lookup::open_dir(self, &parent)?.open_file(name)
    }
}

impl AsFd for HostStore {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }
}

impl Store for HostStore {
    fn root(&self) -> Result<Box<dyn Dir>, Fault> {
        let fd = sys::open_dir(self.root.as_fd(), b".")?;
        Ok(self.dir(fd, RelPath::root()))
    }

    fn open_plain_dir(&self, path: &RelPath) -> Result<Box<dyn Dir>, Fault> {
        if self.lookup == Lookup::Openat2 {
            match sys::open_plain_dir_beneath(self.root.as_fd(), path) {
                Ok(fd) => {
                    self.see(path)?;
                    return Ok(self.dir(fd, path.clone()));
                }
                Err(Errno::LOOP) => return Err(Fault::Link { target: None }),
                Err(Errno::AGAIN | Errno::XDEV | Errno::NAMETOOLONG) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        let mut dir = self.root()?;
        for name in path.names() {
            dir = dir.open_dir(name)?;
        }
        Ok(dir)
    }

    fn check(&self) -> Result<(), Fault> {
        match sys::fstat(&self.root) {
            Ok(meta) if meta.links > 0 => Ok(()),
            Ok(_) => Err(Fault::Gone),
            Err(errno) => Err(errno.into()),
        }
    }

    fn open_dir(&self, path: &RelPath) -> Result<Box<dyn Dir>, Fault> {
        if self.lookup == Lookup::Openat2 {
            // Without links in it, the path is the real path.
            match sys::open_plain_dir_beneath(self.root.as_fd(), path) {
                Ok(fd) => {
                    self.see(path)?;
                    return Ok(self.dir(fd, path.clone()));
                }
                Err(Errno::LOOP | Errno::AGAIN | Errno::XDEV | Errno::NAMETOOLONG) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        lookup::open_dir(self, path)
    }

    fn open_file(&self, path: &RelPath) -> Result<Box<dyn File>, Fault> {
        if self.lookup == Lookup::Walk || path.is_root() {
            return self.explain(path);
        }
        match sys::open_file_beneath(self.root.as_fd(), path) {
            Ok(fd) => {
                self.see(path)?;
                Ok(Box::new(HostFile::new(fd)?))
            }
            // A link, a circle, a race, or more than the kernel
            // takes at once: the walk tells which.
            Err(Errno::LOOP | Errno::AGAIN | Errno::NOTDIR | Errno::NAMETOOLONG) => {
                self.explain(path)
            }
            Err(Errno::XDEV) => Err(Fault::Outside),
            Err(errno) => Err(errno.into()),
        }
    }
}
