//! What is at a place, without reading it for its own sake.

use std::time::SystemTime;

use zonekeep_policy::Place;
use zonekeep_policy::path::RelPath;

use crate::fault::Fault;
use crate::lookup::link_target;
use crate::nearest::with_similar;
use crate::read::{WHOLE, hash_of};
use crate::root::{Kind, Store};

/// What is known about a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// What it is.
    pub kind: Kind,
    /// The size in bytes.
    pub size: u64,
    /// When the content last changed.
    pub modified: SystemTime,
    /// The permission bits.
    pub mode: u32,
    /// The name of the content of a file up to [`WHOLE`] that can be read.
    pub hash: Option<String>,
    /// Where a link leads, if that is inside the store.
    pub link_target: Option<RelPath>,
}

/// Looks at a place. A link itself is looked at, not what it leads to.
pub fn info(store: &dyn Store, place: &Place) -> Result<Facts, Fault> {
    let Some((parent, name)) = place.path().split_last() else {
        store.check()?;
        return Ok(facts(store.root()?.meta()?));
    };
    let looked = store.open_dir(&parent).and_then(|dir| dir.stat(name).map(|meta| (dir, meta)));
    let (dir, meta) = looked.map_err(|fault| with_similar(store, place.path(), fault))?;
    let mut facts = facts(meta);
    match facts.kind {
        // What may not be read has no name: that would tell whether a guess is right.
        Kind::File if !place.suffix_allowed(name) => {}
        Kind::File if facts.size <= place.max_file_bytes().unwrap_or(WHOLE).min(WHOLE) => {
            // What cannot be read has no name, and is still worth telling about.
            facts.hash = dir.open_file(name).and_then(|file| hash_of(&*file)).ok();
        }
        Kind::Link => facts.link_target = link_target(dir.real_path(), &dir.read_link(name)?),
        _ => {}
    }
    Ok(facts)
}

fn facts(meta: crate::root::Meta) -> Facts {
    Facts {
        kind: meta.kind,
        size: meta.size,
        modified: meta.modified,
        mode: meta.mode,
        hash: None,
        link_target: None,
    }
}
