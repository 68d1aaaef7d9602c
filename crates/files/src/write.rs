//! Writing whole files and adding to them.

use zonekeep_policy::Place;

use crate::fault::Fault;
use crate::fingerprint;
use crate::hash;
use crate::read::{WHOLE, hash_of};
use crate::root::{Dir, Overwrite, Source, Store};
use crate::target::{Parents, Target, within};

/// How to write.
#[derive(Debug, Clone)]
pub struct WriteOptions<'a> {
    /// Whether the content goes after what is there.
    pub append: bool,
    /// The name of the content that must be there.
    pub expected_hash: Option<&'a str>,
    /// Whether missing directories are made.
    pub create_parents: bool,
    /// Whether an existing file is replaced.
    pub overwrite: Overwrite,
}

impl Default for WriteOptions<'_> {
    fn default() -> Self {
        WriteOptions {
            append: false,
            expected_hash: None,
            create_parents: true,
            overwrite: Overwrite::Yes,
        }
    }
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The size of the file now.
    pub bytes: u64,
    /// Whether the file is new.
    pub created: bool,
    /// The name of the content now; not for large files that were added to.
    pub hash: Option<String>,
}

/// Writes a file.
pub fn write(
    store: &dyn Store,
    place: &Place,
    content: &[u8],
    options: &WriteOptions<'_>,
) -> Result<Written, Fault> {
    within(place, content.len() as u64)?;
    let parents = match options.create_parents {
        true => Parents::Make,
        false => Parents::Needed,
    };
    let target = Target::open(store, place, parents)?;
    target.settle(store, write_at(&target, content, options))
}

fn write_at(
    target: &Target<'_>,
    content: &[u8],
    options: &WriteOptions<'_>,
) -> Result<Written, Fault> {
    let dir = target.dir();
    let _lock = dir.lock()?;
    fingerprint::is_as_shown(dir, target.name, target.place.shown(), "the file")?;
    if let Some(expected) = options.expected_hash {
        check_hash(dir, target.name, expected)?;
    }
    if options.append
        && let Some(written) = append(target, content)?
    {
        return Ok(written);
    }
    let overwrite = match options.append {
        // There was nothing to add to; if there is now, it is not ours to replace.
        true => Overwrite::No,
        false => options.overwrite,
    };
    let created = target.replace(Source::Bytes(content), overwrite, "the file")?;
    Ok(Written { bytes: content.len() as u64, created, hash: Some(hash::hash(content)) })
}

/// Adds to an existing file; `None` when there is none.
fn append(target: &Target<'_>, content: &[u8]) -> Result<Option<Written>, Fault> {
    let dir = target.dir();
    match dir.stat(target.name) {
        Ok(meta) => within(target.place, meta.size.saturating_add(content.len() as u64))?,
        Err(Fault::NotFound { .. }) => return Ok(None),
        Err(fault) => return Err(fault),
    }
    let bytes = dir.append(target.name, content)?;
    let hash = match bytes {
        0..=WHOLE => Some(hash_of(&*dir.open_file(target.name)?)?),
        _ => None,
    };
    Ok(Some(Written { bytes, created: false, hash }))
}

/// Checks that the content is the one the caller saw.
fn check_hash(dir: &dyn Dir, name: &[u8], expected: &str) -> Result<(), Fault> {
    let file = match dir.open_file(name) {
        Err(Fault::NotFound { .. }) => return Err(Fault::Stale { current: None }),
        other => other?,
    };
    let current = hash_of(&*file)?;
    // Whoever does not take the lock can still change it; as late as possible.
    if current == expected && dir.stat(name)?.version == file.meta().version {
        Ok(())
    } else {
        Err(Fault::Stale { current: Some(current) })
    }
}
