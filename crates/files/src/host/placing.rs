//! Putting a file in its place all at once, and moving one.
//!
//! New content is written to a file without a name, made durable, and only then
//! named. A name that is taken can only be replaced by renaming, so there the
//! file gets a name of ours for a moment first. Where files without a name do
//! not exist, one with a name of ours is used from the start and removed on
//! every failure.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::dir::{HostDir, HostFile};
use super::sys;
use crate::fault::Fault;
use crate::fingerprint::{self, MAX_HASHED};
use crate::root::{File, Kind, Meta, Overwrite, Permissions, Source};

/// The permission bits that content may have: no set-uid, set-gid or sticky.
const PLAIN_MODE: u32 = 0o777;
/// How much is copied at once.
const CHUNK: usize = 128 * 1024;
/// How much the kernel is asked to copy at once.
const RANGE: usize = 64 * 1024 * 1024;

/// Puts content at `name`; returns whether the name is new.
pub(super) fn replace(
    dir: &HostDir,
    name: &[u8],
    source: Source<'_>,
    overwrite: Overwrite,
) -> Result<bool, Fault> {
    let old = dir.file_or_nothing(name)?;
    if old.is_some() && overwrite == Overwrite::No {
        return Err(Fault::Exists);
    }
    let placed = match sys::make_unnamed(dir.fd()) {
        Ok(fd) => place(Fresh { dir, fd, name: None }, name, source, old.as_ref(), overwrite)?,
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOSYS | Errno::NOENT) => None,
        Err(errno) => return Err(errno.into()),
    };
    let created = match placed {
        Some(created) => created,
        None => place(Fresh::named(dir)?, name, source, old.as_ref(), overwrite)?
            .expect("a file that has a name can be renamed"),
    };
    dir.sync()?;
    Ok(created)
}

/// Fills a file and puts it in place; `None` when it cannot be given a name,
/// as without `/proc`, and nothing was done.
fn place(
    mut fresh: Fresh<'_>,
    name: &[u8],
    source: Source<'_>,
    old: Option<&Meta>,
    overwrite: Overwrite,
) -> Result<Option<bool>, Fault> {
    fill(fresh.fd.as_fd(), source)?;
    match (old, source) {
        (_, Source::File { file, permissions: Permissions::OfSource, .. }) => {
            fresh.take_after(file.meta())?;
        }
        (Some(old), _) => fresh.take_after(old)?,
        (None, Source::File { file, .. } | Source::Joined { file, .. }) => {
            fresh.set_mode(file.meta().mode)?;
        }
        (None, Source::Bytes(_)) => {}
    }
    match rustix::fs::fsync(&fresh.fd) {
        // A file system that has nothing to sync.
        Err(Errno::INVAL | Errno::NOSYS) => {}
        other => other?,
    }
    if old.is_none() {
        match fresh.put_new(name) {
            Ok(()) => return Ok(Some(true)),
            // Somebody was faster.
            Err(Errno::EXIST) if overwrite == Overwrite::Yes => {}
            Err(errno) if fresh.name.is_none() && is_unnameable(errno) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        }
    }
    if fresh.name.is_none() {
        match fresh.take_own_name() {
            Ok(()) => {}
            Err(errno) if is_unnameable(errno) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        }
    }
    fresh.put_over(name)?;
    if let Source::File { shown: Some(_), .. } = source {
        fresh.is_at(name)?;
    }
    Ok(Some(false))
}

/// Tells a system that does not name such files from one that has no room.
fn is_unnameable(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NOENT | Errno::PERM | Errno::ACCESS | Errno::XDEV | Errno::INVAL | Errno::OPNOTSUPP
    )
}

/// A file that is being written, and vanishes unless it is put somewhere.
struct Fresh<'a> {
    dir: &'a HostDir,
    fd: OwnedFd,
    /// The name it has for now.
    name: Option<String>,
}

impl<'a> Fresh<'a> {
    fn named(dir: &'a HostDir) -> Result<Self, Fault> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        loop {
            let name = own_name()?;
            match rustix::fs::openat(dir.fd(), name.as_str(), flags, Mode::from_raw_mode(0o666)) {
                Ok(fd) => return Ok(Fresh { dir, fd, name: Some(name) }),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Takes on the permissions, and for root the owner, of the file it replaces.
    fn take_after(&self, old: &Meta) -> Result<(), Fault> {
        if let Some((user, group)) = old.owner
            && rustix::process::geteuid().is_root()
        {
            let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
            match rustix::fs::fchown(&self.fd, Some(user), Some(group)) {
                // Root of a user namespace that does not know the owner.
                Err(Errno::INVAL | Errno::PERM) => {}
                other => other?,
            }
        }
        self.set_mode(old.mode)
    }

    fn set_mode(&self, mode: u32) -> Result<(), Fault> {
        let mode = (mode & PLAIN_MODE) as rustix::fs::RawMode;
        Ok(rustix::fs::fchmod(&self.fd, Mode::from_raw_mode(mode))?)
    }

    /// Gives it a name that nothing has.
    fn put_new(&mut self, name: &[u8]) -> Result<(), Errno> {
        let at = self.dir.fd();
        match &self.name {
            None => sys::name_unnamed(self.fd.as_fd(), at, name),
            Some(own) => {
                rename_new(at, own.as_bytes(), at, name, Kind::File)?;
                self.name = None;
                Ok(())
            }
        }
    }

    /// Gives it a name of ours.
    fn take_own_name(&mut self) -> Result<(), Errno> {
        loop {
            let own = own_name()?;
            match sys::name_unnamed(self.fd.as_fd(), self.dir.fd(), own.as_bytes()) {
                Ok(()) => {
                    self.name = Some(own);
                    return Ok(());
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Fails unless the name leads to this very file: a command could have put another
    /// one in the place of the name of ours.
    fn is_at(&self, name: &[u8]) -> Result<(), Fault> {
        let (own, there) = (sys::fstat(&self.fd)?, sys::stat(self.dir.fd(), name)?);
        let identity = |meta: &Meta| (meta.version.device, meta.version.node);
        if identity(&own) == identity(&there) {
            Ok(())
        } else {
            Err(Fault::Changed { what: "the destination" })
        }
    }

    /// Gives it a name that something else has, which is gone then.
    fn put_over(&mut self, name: &[u8]) -> Result<(), Errno> {
        let own = self.name.as_deref().expect("only a name can be renamed");
        rustix::fs::renameat(self.dir.fd(), own, self.dir.fd(), name)?;
        self.name = None;
        Ok(())
    }
}

impl Drop for Fresh<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // Nothing is left to do about it where this fails.
            let _ = rustix::fs::unlinkat(self.dir.fd(), name.as_str(), AtFlags::empty());
        }
    }
}

fn own_name() -> Result<String, Errno> {
    let random = getrandom::u64().map_err(|_| Errno::IO)?;
    Ok(format!(".zonekeep-{random:016x}"))
}

fn fill(to: BorrowedFd<'_>, source: Source<'_>) -> Result<(), Fault> {
    match source {
        Source::Bytes(bytes) => Ok(write_all(to, bytes)?),
        Source::File { file, limit, shown: None, .. } => copy(file, limit, to),
        Source::File { file, limit, shown, .. } => {
            let sha256 = copy_and_hash(file, limit, to)?;
            fingerprint::is_shown(shown, &sha256, file.meta().mode)
        }
        Source::Joined { file, tail } => {
            copy(file, None, to)?;
            Ok(write_all(to, tail)?)
        }
    }
}

fn write_all(to: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(0) => return Err(Errno::IO),
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Copies a whole file, by the kernel where it can.
fn copy(from: &dyn File, limit: Option<u64>, to: BorrowedFd<'_>) -> Result<(), Fault> {
    let mut done = 0;
    let within = |done: u64| match limit {
        Some(limit) if done > limit => {
            Err(Fault::TooLarge { size: from.meta().size.max(done), limit })
        }
        _ => Ok(()),
    };
    within(from.meta().size)?;
    if let Some(fd) = from.fd() {
        loop {
            match sys::copy_range(fd, done, to, RANGE) {
                // The end; or a file system that cannot, which the reading below finds.
                Ok(0) => break,
                Ok(copied) => done += copied as u64,
                Err(Errno::INTR) => {}
                Err(errno @ (Errno::NOSPC | Errno::DQUOT | Errno::IO)) => return Err(errno.into()),
                Err(_) => break,
            }
            within(done)?;
        }
    }
    let mut buffer = vec![0; CHUNK];
    loop {
        let length = from.read_at(&mut buffer, done)?;
        if length == 0 {
            return Ok(());
        }
        write_all(to, &buffer[..length])?;
        done += length as u64;
        within(done)?;
    }
}

/// Copies a whole file; returns the SHA-256 of the bytes that were written, whatever
/// the source holds by now.
fn copy_and_hash(
    from: &dyn File,
    limit: Option<u64>,
    to: BorrowedFd<'_>,
) -> Result<[u8; 32], Fault> {
    let limit = limit.map_or(MAX_HASHED, |limit| limit.min(MAX_HASHED));
    let mut hash = Sha256::new();
    let mut buffer = vec![0; CHUNK];
    let mut done = 0;
    loop {
        let size = from.meta().size.max(done);
        if size > limit {
            return Err(Fault::TooLarge { size, limit });
        }
        match from.read_at(&mut buffer, done)? {
            0 => return Ok(hash.finalize().into()),
            length => {
                hash.update(&buffer[..length]);
                write_all(to, &buffer[..length])?;
                done += length as u64;
            }
        }
    }
}

/// Adds to a file that is open for it; returns the new size.
pub(super) fn append(
    dir: &HostDir,
    name: &[u8],
    file: &HostFile,
    content: &[u8],
) -> Result<u64, Fault> {
    let size = file.meta().size;
    if file.meta().links > 1 {
        // Another name of it may be outside: that one keeps what it has.
        let source = Source::Joined { file, tail: content };
        replace(dir, name, source, Overwrite::Yes)?;
        return Ok(size + content.len() as u64);
    }
    let outcome = write_all(file.as_fd(), content).and_then(|()| rustix::fs::fsync(file.as_fd()));
    if let Err(errno) = outcome {
        rustix::fs::ftruncate(file.as_fd(), size)?;
        return Err(errno.into());
    }
    Ok(size + content.len() as u64)
}

/// Renames within a file system.
pub(super) fn rename(
    from: &HostDir,
    name: &[u8],
    to: &HostDir,
    to_name: &[u8],
    overwrite: Overwrite,
) -> Result<(), Errno> {
    match overwrite {
        Overwrite::Yes => rustix::fs::renameat(from.fd(), name, to.fd(), to_name),
        Overwrite::No => {
            let kind = sys::stat(from.fd(), name)?.kind;
            rename_new(from.fd(), name, to.fd(), to_name, kind)
        }
    }
}

/// Renames unless the new name is taken, without a gap between the two.
fn rename_new(
    from: BorrowedFd<'_>,
    name: &[u8],
    to: BorrowedFd<'_>,
    to_name: &[u8],
    kind: Kind,
) -> Result<(), Errno> {
    match sys::rename_new(from, name, to, to_name) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            rename_by_steps(from, name, to, to_name, kind)
        }
        other => other,
    }
}

/// Renames in a file system that cannot do that in one. A second name fails
/// where there is one already, and a directory only replaces one that is empty:
/// ours.
fn rename_by_steps(
    from: BorrowedFd<'_>,
    name: &[u8],
    to: BorrowedFd<'_>,
    to_name: &[u8],
    kind: Kind,
) -> Result<(), Errno> {
    if kind == Kind::Dir {
        rustix::fs::mkdirat(to, to_name, Mode::from_raw_mode(0o700))?;
        let outcome = rustix::fs::renameat(from, name, to, to_name);
        if outcome.is_err() {
            let _ = rustix::fs::unlinkat(to, to_name, AtFlags::REMOVEDIR);
        }
        outcome
    } else {
        rustix::fs::linkat(from, name, to, to_name, AtFlags::empty())?;
        rustix::fs::unlinkat(from, name, AtFlags::empty())
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the tests build and inspect trees from outside")]
mod tests {
    use super::*;
    use crate::HostStore;
    use crate::root::Store;

    #[test]
    fn a_file_with_a_name_of_ours_is_put_in_place_too() {
        let temp = tempfile::TempDir::new().unwrap();
        let dir = HostStore::open(temp.path()).unwrap().root().unwrap();
        let dir = dir.as_any().downcast_ref::<HostDir>().unwrap();
        let named = |content: &str, overwrite| {
            let old = dir.file_or_nothing(b"a").unwrap();
            let source = Source::Bytes(content.as_bytes());
            place(Fresh::named(dir).unwrap(), b"a", source, old.as_ref(), overwrite)
        };
        assert_eq!(named("one", Overwrite::No).unwrap(), Some(true));
        assert_eq!(named("two", Overwrite::Yes).unwrap(), Some(false));
        let source = Source::Bytes(b"three");
        let outcome = place(Fresh::named(dir).unwrap(), b"a", source, None, Overwrite::No);
        assert_eq!(outcome.unwrap_err().code(), "exists");
        assert_eq!(std::fs::read(temp.path().join("a")).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1, "something is left");
    }

    #[test]
    fn a_rename_without_the_flag_replaces_nothing() {
        let temp = tempfile::TempDir::new().unwrap();
        let store = HostStore::open(temp.path()).unwrap();
        let at = std::os::fd::AsFd::as_fd(&store);
        std::fs::create_dir(temp.path().join("d")).unwrap();
        std::fs::write(temp.path().join("d/x"), "x").unwrap();
        std::fs::write(temp.path().join("f"), "f").unwrap();
        assert_eq!(rename_by_steps(at, b"f", at, b"d", Kind::File), Err(Errno::EXIST));
        assert_eq!(rename_by_steps(at, b"d", at, b"f", Kind::Dir), Err(Errno::EXIST));
        assert_eq!(rename_by_steps(at, b"d", at, b"e", Kind::Dir), Ok(()));
        assert_eq!(rename_by_steps(at, b"f", at, b"g", Kind::File), Ok(()));
        assert_eq!(std::fs::read(temp.path().join("e/x")).unwrap(), b"x");
        assert_eq!(std::fs::read(temp.path().join("g")).unwrap(), b"f");
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 2);
    }
}
