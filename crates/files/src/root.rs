//! What a store of files can do: the handles that everything else works on.
//!
//! A [`Dir`] is an open directory and acts on single names, never on paths, so
//! nothing it does can lead out of it. A [`Store`] finds directories and files
//! by path, beneath its own root.

use std::any::Any;
use std::fmt::Debug;
use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;
use std::time::SystemTime;

use zonekeep_policy::fingerprint::Fingerprint;
use zonekeep_policy::path::RelPath;

use crate::fault::Fault;
use crate::lookup;

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Link,
    /// A pipe, socket or device.
    Special,
}

/// Whether something that is there already may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overwrite {
    /// No: fails with [`Fault::Exists`], without a gap between looking and doing.
    #[default]
    No,
    /// Yes.
    Yes,
}

/// What is known about a file without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// What it is.
    pub kind: Kind,
    /// The size in bytes.
    pub size: u64,
    /// The permission bits, with set-uid, set-gid and sticky.
    pub mode: u32,
    /// When the content last changed.
    pub modified: SystemTime,
    /// How many names it has.
    pub links: u64,
    /// The user and group that own it, where the store knows owners.
    pub owner: Option<(u32, u32)>,
    /// Which content of which file this is.
    pub version: Version,
}

/// Tells one content of one file from any other, as well as the store can.
///
/// A content written within the clock's resolution of another one, in place and
/// with the same length, cannot be told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Version {
    pub(crate) device: u64,
    pub(crate) node: u64,
    pub(crate) size: u64,
    pub(crate) modified: (i64, i64),
    pub(crate) changed: (i64, i64),
}

/// Whose permissions a file with the content of another one gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Permissions {
    /// Those of the file that it replaces; where there is none, those of the source.
    #[default]
    OfReplaced,
    /// Those of the source, and for root its owner, as after a rename.
    OfSource,
}

/// New content for a file.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// All of another file, as long as it is not longer than `limit`.
    File {
        /// The open file.
        file: &'a dyn File,
        /// The most bytes that may be copied.
        limit: Option<u64>,
        /// What a question showed of it: nothing is put in place unless the bytes
        /// that were copied are that content.
        shown: Option<Fingerprint>,
        /// Whose permissions the new file gets.
        permissions: Permissions,
    },
    /// All of another file, and these bytes after it.
    Joined {
        /// The open file.
        file: &'a dyn File,
        /// The bytes.
        tail: &'a [u8],
    },
}

/// Holds a directory for one read-modify-write at a time; dropping it ends that.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "kept to be dropped")] Option<Box<dyn Held>>);

/// What a [`Lock`] keeps until it is dropped.
pub(crate) trait Held: Debug + Send {}

impl Lock {
    pub(crate) fn new(held: impl Held + 'static) -> Self {
        Lock(Some(Box::new(held)))
    }

    /// Returns a lock that keeps nobody out.
    pub(crate) fn none() -> Self {
        Lock(None)
    }
}

/// An open regular file.
pub trait File: Debug + Send + Sync {
    /// Returns what was known when the file was opened, of the open file itself.
    fn meta(&self) -> &Meta;

    /// Reads bytes from `offset` on; 0 only at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Fault>;

    /// Returns the descriptor, where there is one.
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// An open directory: the right to use the names in it.
///
/// A `name` is one plain component. Anything else, `..` above all, is refused
/// with [`Fault::Outside`]. No method follows a link.
pub trait Dir: Debug + Send + Sync {
    /// Returns the path from the store's root, with every link resolved, as it
    /// was when the directory was opened.
    fn real_path(&self) -> &RelPath;

    /// Opens a regular file for reading. Never waits, whatever the name is.
    fn open_file(&self, name: &[u8]) -> Result<Box<dyn File>, Fault>;

    /// Opens a directory; for a link fails with [`Fault::Link`].
    fn open_dir(&self, name: &[u8]) -> Result<Box<dyn Dir>, Fault>;

    /// Looks at a name.
    fn stat(&self, name: &[u8]) -> Result<Meta, Fault>;

    /// Looks at the directory itself.
    fn meta(&self) -> Result<Meta, Fault>;

    /// Returns the text of a link.
    fn read_link(&self, name: &[u8]) -> Result<Vec<u8>, Fault>;

    /// Calls `each` for every entry, in no order, until it breaks.
    fn entries(&self, each: &mut dyn FnMut(&[u8], Kind) -> ControlFlow<()>) -> Result<(), Fault>;

    /// Puts a file with new content at `name`, all at once; returns whether the
    /// name is new. A replaced file's permissions stay, without set-uid and
    /// set-gid, unless the source says otherwise. Fails for a link, a directory and anything else but a file.
    fn replace(&self, name: &[u8], source: Source<'_>, overwrite: Overwrite)
    -> Result<bool, Fault>;

    /// Adds to the end of an existing file; returns its new size. With other
    /// names elsewhere the file is replaced, so that those do not change. A
    /// failure leaves the old content. The caller holds the [`lock`](Dir::lock).
    fn append(&self, name: &[u8], content: &[u8]) -> Result<u64, Fault>;

    /// Makes an empty directory.
    fn make_dir(&self, name: &[u8]) -> Result<(), Fault>;

    /// Removes a file, link, pipe or socket.
    fn remove_file(&self, name: &[u8]) -> Result<(), Fault>;

    /// Removes an empty directory.
    fn remove_dir(&self, name: &[u8]) -> Result<(), Fault>;

    /// Gives a file, link or directory another name; `None` when `to` is in
    /// another file system or another kind of store, and nothing was done.
    fn rename(
        &self,
        name: &[u8],
        to: &dyn Dir,
        to_name: &[u8],
        overwrite: Overwrite,
    ) -> Result<Option<()>, Fault>;

    /// Waits a few seconds for other writers of this directory to finish.
    ///
    /// Advisory: it keeps out those who take it too, here and in other
    /// processes, and leaves nothing behind.
    fn lock(&self) -> Result<Lock, Fault>;

    /// Returns the concrete type, for work between two directories.
    fn as_any(&self) -> &dyn Any;
}

/// A tree of files that cannot be left.
pub trait Store: Debug + Send + Sync {
    /// Opens the root.
    fn root(&self) -> Result<Box<dyn Dir>, Fault>;

    /// Opens a directory without following any link.
    fn open_plain_dir(&self, path: &RelPath) -> Result<Box<dyn Dir>, Fault>;

    /// Fails with [`Fault::Gone`] when the root was removed.
    fn check(&self) -> Result<(), Fault>;

    /// Opens a directory, following links that stay inside.
    fn open_dir(&self, path: &RelPath) -> Result<Box<dyn Dir>, Fault> {
        lookup::open_dir(self, path)
    }

    /// Opens a regular file. Links before the last name may be followed.
    fn open_file(&self, path: &RelPath) -> Result<Box<dyn File>, Fault> {
        let (parent, name) = path.split_last().ok_or(Fault::IsDirectory)?;
        self.open_dir(&parent)?.open_file(name)
    }

    /// Opens a directory, and makes it and those above it where they are missing.
    fn make_dirs(&self, path: &RelPath) -> Result<Box<dyn Dir>, Fault> {
        Ok(lookup::deepest_dir(self, path)?.make_rest(self)?.dir)
    }
}
