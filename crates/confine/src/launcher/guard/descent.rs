//! A way down a tree of any depth with a bounded number of open directories.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;

use super::keys::Keys;

/// How many directories stay open.
const OPEN: usize = 48;

#[derive(Debug)]
struct Level {
    /// Closed where the way down is long.
    dir: Option<OwnedFd>,
    /// What it was, to know it again.
    id: (u64, u64),
}

/// Open directories, each in the one before.
#[derive(Debug)]
pub(super) struct Descent {
    levels: Vec<Level>,
}

impl Descent {
    pub(super) fn new(top: OwnedFd) -> Self {
        Descent { levels: vec![Level { dir: Some(top), id: (0, 0) }] }
    }

    /// Returns the deepest directory.
    pub(super) fn here(&self) -> rustix::io::Result<BorrowedFd<'_>> {
        let level = self.levels.last().and_then(|level| level.dir.as_ref());
        level.map(AsFd::as_fd).ok_or(Errno::STALE)
    }

    /// Goes into a directory.
    pub(super) fn enter(&mut self, dir: OwnedFd) {
        self.levels.push(Level { dir: Some(dir), id: (0, 0) });
        let Some(far) = self.levels.len().checked_sub(OPEN + 1) else { return };
        let level = &mut self.levels[far];
        if let Some(dir) = level.dir.take()
            && let Ok(stat) = rustix::fs::fstat(&dir)
        {
            level.id = (stat.st_dev, stat.st_ino);
        }
    }

    /// Goes back up. Where the directory above was closed, it must still be the
    /// one that this one lies in.
    pub(super) fn leave(&mut self, keys: &mut Keys) {
        let left = self.levels.pop().and_then(|level| level.dir);
        let Some(above) = self.levels.last_mut() else { return };
        if above.dir.is_some() {
            return;
        }
        let Some(left) = left else { return };
        let Ok(dir) = keys.open(left.as_fd(), b"..") else { return };
        let id = rustix::fs::fstat(&dir).map(|stat| (stat.st_dev, stat.st_ino));
        if id == Ok(above.id) {
            above.dir = Some(dir);
        }
    }
}
