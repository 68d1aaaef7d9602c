//! Gets into directories whose permissions are in the way.
//!
//! What a command makes belongs to the caller, and so does the right to change
//! its permissions. They are put back once the keeper has looked.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use zonekeep_policy::path::RelPath;

use crate::quarantine::handles::{hold_dir, open_dir, path_of};

/// How many directories are open to the keeper at a time: each takes a descriptor.
const MAX_UNLOCKED: usize = 128;
/// What the owner needs to work in a directory.
const ALL: u32 = 0o700;

/// A directory whose permissions were changed.
#[derive(Debug)]
struct Unlocked {
    dir: OwnedFd,
    was: u32,
    set: u32,
}

/// The permissions that were changed.
#[derive(Debug, Default)]
pub(super) struct Keys {
    unlocked: Vec<Unlocked>,
    /// Whether a closed door was met.
    met: bool,
}

impl Keys {
    /// Opens a directory to read it.
    pub(super) fn open(&mut self, at: BorrowedFd<'_>, name: &[u8]) -> rustix::io::Result<OwnedFd> {
        match open_dir(at, name) {
            Err(Errno::ACCESS) => {
                let dir = self.hold(at, name)?;
                self.unlock(dir.as_fd())?;
                open_dir(dir.as_fd(), b".")
            }
            result => result,
        }
    }

    /// Opens a directory to go through it.
    fn hold(&mut self, at: BorrowedFd<'_>, name: &[u8]) -> rustix::io::Result<OwnedFd> {
        match hold_dir(at, name) {
            Err(Errno::ACCESS) => {
                self.unlock(at)?;
                hold_dir(at, name)
            }
            result => result,
        }
    }

    /// Goes down from a directory.
    pub(super) fn below(
        &mut self,
        top: BorrowedFd<'_>,
        path: &RelPath,
    ) -> rustix::io::Result<OwnedFd> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if !path.is_root()
            && let Ok(dir) =
                rustix::fs::openat2(top, path.as_bytes(), flags, Mode::empty(), resolve)
        {
            return Ok(dir);
        }
        // Step by step, where something is in the way.
        let mut dir = rustix::io::fcntl_dupfd_cloexec(top, 3)?;
        for name in path.names() {
            dir = self.hold(dir.as_fd(), name)?;
        }
        Ok(dir)
    }

    /// Lets the owner into a directory, until [`relock`](Self::relock).
    pub(super) fn unlock(&mut self, dir: BorrowedFd<'_>) -> rustix::io::Result<()> {
        self.met = true;
        let was = rustix::fs::fstat(dir)?.st_mode & 0o7777;
        if was & ALL == ALL {
            return Err(Errno::ACCESS);
        }
        let set = was | ALL;
        if self.unlocked.len() >= MAX_UNLOCKED {
            // Those that are still needed are unlocked again.
            self.relock_first(MAX_UNLOCKED / 2);
        }
        rustix::fs::chmod(path_of(dir), Mode::from_raw_mode(set))?;
        let dir = rustix::io::fcntl_dupfd_cloexec(dir, 3)?;
        self.unlocked.push(Unlocked { dir, was, set });
        Ok(())
    }

    /// Returns whether a closed door was met since the last time: behind it
    /// something may have been missed.
    pub(super) fn met(&mut self) -> bool {
        std::mem::take(&mut self.met)
    }

    /// Puts permissions back, where nobody has changed them since.
    pub(super) fn relock(&mut self) {
        self.relock_first(self.unlocked.len());
    }

    fn relock_first(&mut self, count: usize) {
        for Unlocked { dir, was, set } in self.unlocked.drain(..count).rev() {
            let now = rustix::fs::fstat(&dir).map(|stat| stat.st_mode & 0o7777);
            if now == Ok(set) {
                let _ = rustix::fs::chmod(path_of(dir.as_fd()), Mode::from_raw_mode(was));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_so_many_are_open_at_a_time_and_all_are_closed_again() {
        let temp = tempfile::tempdir().unwrap();
        let top = fs::File::open(temp.path()).unwrap();
        let mut keys = Keys::default();
        let names: Vec<String> = (0..3 * MAX_UNLOCKED).map(|n| n.to_string()).collect();
        for name in &names {
            let dir = temp.path().join(name);
            fs::create_dir(&dir).unwrap();
            fs::set_permissions(&dir, fs::Permissions::from_mode(0o000)).unwrap();
            let held = hold_dir(top.as_fd(), name.as_bytes()).unwrap();
            keys.unlock(held.as_fd()).unwrap();
            assert!(keys.unlocked.len() <= MAX_UNLOCKED);
        }
        let modes = || {
            let mode = |name: &String| fs::metadata(temp.path().join(name)).unwrap().permissions();
            names.iter().filter(|name| mode(name).mode() & 0o777 == 0).count()
        };
        assert_eq!(modes(), names.len() - keys.unlocked.len());
        keys.relock();
        assert_eq!(modes(), names.len());
    }
}
