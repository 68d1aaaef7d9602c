//! From a place to the open directory that holds it, with the consent checked
//! against where the path really leads.

use zonekeep_policy::Place;
use zonekeep_policy::guard::Reach;
use zonekeep_policy::path::RelPath;

use crate::fault::Fault;
use crate::fingerprint;
use crate::lookup::{Made, deepest_dir};
use crate::nearest::with_similar;
use crate::root::{Dir, File, Overwrite, Source, Store};

/// The directory that holds a place, and the last name of it.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    pub(crate) place: &'a Place,
    pub(crate) name: &'a [u8],
    /// The path with the links in its directories resolved.
    pub(crate) real: RelPath,
    made: Made,
}

/// Whether the directories on the way are made where they are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parents {
    Needed,
    Make,
}

impl<'a> Target<'a> {
    /// Opens the directory that holds `place`, to change what is at the place.
    ///
    /// Fails with [`Fault::Guarded`], before anything is made, where links lead
    /// to what the consent for `place` does not cover.
    pub(crate) fn open(
        store: &dyn Store,
        place: &'a Place,
        parents: Parents,
    ) -> Result<Self, Fault> {
        let (parent, _) = place.path().split_last().ok_or(Fault::IsDirectory)?;
        let name = place.path().file_name().expect("a path with a parent has a name");
        match store.open_dir(&parent) {
            Ok(dir) => {
                let real = dir.real_path().join(name);
                let target = Target { place, name, real, made: Made::existing(dir) };
                target.is_cleared()?;
                Ok(target)
            }
            Err(Fault::NotFound { .. }) if parents == Parents::Make => {
                store.check()?;
                let deepest = deepest_dir(store, &parent)?;
                let real = deepest.real_path().join(name);
                is_cleared(place, &real)?;
                Ok(Target { place, name, real, made: deepest.make_rest(store)? })
            }
            Err(Fault::NotFound { .. }) => {
                store.check()?;
                Err(Fault::not_found())
            }
            Err(fault) => Err(fault),
        }
    }

    /// Returns the directory.
    pub(crate) fn dir(&self) -> &dyn Dir {
        &*self.made.dir
    }

    /// Puts a file with new content at the name, where there still is what a question
    /// showed; `what` is that in words. Returns whether the name is new.
    pub(crate) fn replace(
        &self,
        source: Source<'_>,
        overwrite: Overwrite,
        what: &'static str,
    ) -> Result<bool, Fault> {
        let (dir, shown) = (self.dir(), self.place.shown());
        if overwrite == Overwrite::No {
            return dir.replace(self.name, source, overwrite);
        }
        fingerprint::is_as_shown(dir, self.name, shown, what)?;
        match shown == Some(fingerprint::nothing()) {
            true => match dir.replace(self.name, source, Overwrite::No) {
                Err(Fault::Exists) => Err(Fault::Changed { what }),
                other => other,
            },
            false => dir.replace(self.name, source, overwrite),
        }
    }

    /// Passes an outcome on; after a failure directories made for it are removed.
    pub(crate) fn settle<T>(
        &self,
        store: &dyn Store,
        outcome: Result<T, Fault>,
    ) -> Result<T, Fault> {
        if outcome.is_err() {
            self.made.undo(store);
            store.check()?;
        }
        outcome
    }

    /// Returns whether the consent also covers a whole directory put here.
    pub(crate) fn covers_tree(&self) -> bool {
        self.place.covers(&self.real, Reach::Tree)
    }

    fn is_cleared(&self) -> Result<(), Fault> {
        is_cleared(self.place, &self.real)
    }
}

fn is_cleared(place: &Place, real: &RelPath) -> Result<(), Fault> {
    if real == place.path() || place.covers(real, Reach::File) {
        Ok(())
    } else {
        Err(Fault::Guarded)
    }
}

/// Opens the file at a place for reading, within the limit of the place.
pub(crate) fn open_file(store: &dyn Store, place: &Place) -> Result<Box<dyn File>, Fault> {
    match store.open_file(place.path()) {
        Ok(file) => {
            within(place, file.meta().size)?;
            Ok(file)
        }
        Err(fault) => Err(with_similar(store, place.path(), fault)),
    }
}

/// Checks a size against the limit of a place.
pub(crate) fn within(place: &Place, size: u64) -> Result<(), Fault> {
    match place.max_file_bytes() {
        Some(limit) if size > limit => Err(Fault::TooLarge { size, limit }),
        _ => Ok(()),
    }
}
