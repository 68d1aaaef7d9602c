//! Removing a file, a link or an empty directory.

use zonekeep_policy::Place;

use crate::fault::Fault;
use crate::nearest::with_similar;
use crate::root::{Kind, Store};
use crate::target::{Parents, Target};

/// Removes what is at a place and returns what it was. A link itself is
/// removed, never what it leads to.
pub fn delete(store: &dyn Store, place: &Place) -> Result<Kind, Fault> {
    let target = Target::open(store, place, Parents::Needed)?;
    let dir = target.dir();
    let kind = match dir.stat(target.name) {
        Ok(meta) => meta.kind,
        Err(fault) => return Err(with_similar(store, place.path(), fault)),
    };
    match kind {
        Kind::Dir => dir.remove_dir(target.name)?,
        Kind::File | Kind::Link | Kind::Special => dir.remove_file(target.name)?,
    }
    Ok(kind)
}
