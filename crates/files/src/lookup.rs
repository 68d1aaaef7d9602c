//! Finding directories beneath a root by single steps.
//!
//! Each name is opened from the handle of the directory before it and without
//! following links; links are read and walked by this code, from the directory
//! they are in. An absolute link leaves, and so does a `..` at the root.

use zonekeep_policy::path::RelPath;

use crate::fault::Fault;
use crate::root::{Dir, Store};

/// How many links one path may pass, as in the kernel.
const MAX_LINKS: usize = 40;
/// How long what is still to be walked may grow by links.
const MAX_PENDING: usize = 64 * 1024;

/// Opens a directory, following links that stay inside.
///
/// Holds one directory open at a time: `..` in a link starts again from the root
/// along the names walked so far, so a deep path cannot use up the descriptors.
pub(crate) fn open_dir<S: Store + ?Sized>(
    store: &S,
    path: &RelPath,
) -> Result<Box<dyn Dir>, Fault> {
    let mut pending: Vec<Vec<u8>> = path.names().rev().map(<[u8]>::to_vec).collect();
    let mut dir = store.root()?;
    let mut links = 0;
    while let Some(name) = pending.pop() {
        match name.as_slice() {
            b"" | b"." => continue,
            b".." => {
                let (parent, _) = dir.real_path().split_last().ok_or(Fault::Outside)?;
                dir = store.open_plain_dir(&parent)?;
                continue;
            }
            _ => {}
        }
        match dir.open_dir(&name) {
            Ok(next) => dir = next,
            Err(Fault::Link { .. }) => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(Fault::Loop);
                }
                let target = dir.read_link(&name)?;
                if target.first() == Some(&b'/') {
                    return Err(Fault::Outside);
                }
                pending.extend(target.split(|&b| b == b'/').rev().map(<[u8]>::to_vec));
                if pending.iter().map(Vec::len).sum::<usize>() > MAX_PENDING {
                    return Err(Fault::NameTooLong);
                }
            }
            Err(fault) => return Err(fault),
        }
    }
    Ok(dir)
}

/// An existing directory, and names below it that do not exist yet.
#[derive(Debug)]
pub(crate) struct Deepest {
    /// The directory.
    pub(crate) dir: Box<dyn Dir>,
    /// The names below it.
    pub(crate) rest: Vec<Vec<u8>>,
}

/// Finds the deepest directory on the way to `path` that exists.
pub(crate) fn deepest_dir<S: Store + ?Sized>(store: &S, path: &RelPath) -> Result<Deepest, Fault> {
    let mut rest = Vec::new();
    let mut path = path.clone();
    loop {
        match store.open_dir(&path) {
            Ok(dir) => {
                rest.reverse();
                return Ok(Deepest { dir, rest });
            }
            Err(Fault::NotFound { .. }) => {
                let Some((parent, name)) = path.split_last() else { return Err(Fault::Gone) };
                rest.push(name.to_vec());
                path = parent;
            }
            Err(fault) => return Err(fault),
        }
    }
}

impl Deepest {
    /// Returns the path that the whole will have, links resolved.
    pub(crate) fn real_path(&self) -> RelPath {
        self.rest.iter().fold(self.dir.real_path().clone(), |path, name| path.join(name))
    }

    /// Makes the missing directories and opens the last one; on a failure those
    /// that were made are removed again.
    ///
    /// A link that was put in the place of a missing one is not followed.
    pub(crate) fn make_rest<S: Store + ?Sized>(self, store: &S) -> Result<Made, Fault> {
        let mut made = Made { dir: self.dir, paths: Vec::new() };
        for name in &self.rest {
            let next = match made.dir.make_dir(name) {
                Ok(()) => {
                    made.paths.push(made.dir.real_path().join(name));
                    made.dir.open_dir(name)
                }
                Err(Fault::Exists) => made.dir.open_dir(name),
                Err(fault) => Err(fault),
            };
            match next {
                Ok(next) => made.dir = next,
                Err(fault) => {
                    made.undo(store);
                    return Err(match fault {
                        // It leads nowhere, else it would have been walked.
                        Fault::Link { .. } => Fault::not_found(),
                        fault => fault,
                    });
                }
            }
        }
        Ok(made)
    }
}

/// A directory, and those on the way to it that were made for it.
#[derive(Debug)]
pub(crate) struct Made {
    /// The directory.
    pub(crate) dir: Box<dyn Dir>,
    /// The real paths of those that were made, from the top down.
    paths: Vec<RelPath>,
}

impl Made {
    /// Returns a directory that was there.
    pub(crate) fn existing(dir: Box<dyn Dir>) -> Self {
        Made { dir, paths: Vec::new() }
    }

    /// Removes the directories that were made and are still empty.
    pub(crate) fn undo<S: Store + ?Sized>(&self, store: &S) {
        for path in self.paths.iter().rev() {
            if let Some((parent, name)) = path.split_last()
                && let Ok(dir) = store.open_plain_dir(&parent)
            {
                // What is in use by now stays.
                let _ = dir.remove_dir(name);
            }
        }
    }
}

/// Returns where a link in `dir` leads by its text, if that is inside; a hint.
pub(crate) fn link_target(dir: &RelPath, target: &[u8]) -> Option<RelPath> {
    if target.first() == Some(&b'/') {
        return None;
    }
    let mut path = dir.clone();
    for name in target.split(|&b| b == b'/') {
        path = match name {
            b"" | b"." => path,
            b".." => path.split_last()?.0,
            name => path.join(name),
        };
    }
    Some(path)
}
