//! Moving and copying, within a store and between two.

use std::ops::ControlFlow;

use zonekeep_policy::Place;
use zonekeep_policy::guard::Reach;
use zonekeep_policy::path::RelPath;

use crate::fault::Fault;
use crate::fingerprint::{self, MAX_ENTRIES, is_as_shown};
use crate::nearest::with_similar;
use crate::root::{Dir, File, Kind, Overwrite, Permissions, Source, Store};
use crate::target::{Parents, Target, open_file, within};

/// What was moved or copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relocated {
    /// What it is.
    pub kind: Kind,
    /// The size of a file.
    pub bytes: u64,
    /// Whether there was nothing at the new place.
    pub created: bool,
}

/// Gives a file, link or directory another place. Missing directories are made.
///
/// Between two stores only files move, by their content: what arrives is a new
/// file, and the old one is removed once it is safely there. A file that a question
/// showed always moves like that, because a process that has the old file open could
/// still write to it after a rename. A directory or a link that a question showed is
/// compared before the rename and after it, and goes back where it is another one;
/// files in the directory that a process has open stay open.
pub fn rename(
    from_store: &dyn Store,
    from: &Place,
    to_store: &dyn Store,
    to: &Place,
    overwrite: Overwrite,
) -> Result<Relocated, Fault> {
    let source = Target::open(from_store, from, Parents::Needed)?;
    let meta = match source.dir().stat(source.name) {
        Ok(meta) => meta,
        Err(fault) => return Err(with_similar(from_store, from.path(), fault)),
    };
    let same_store = std::ptr::addr_eq(from_store, to_store);
    if meta.kind == Kind::Dir && !same_store {
        return Err(Fault::TreeAcross);
    }
    if meta.kind == Kind::File {
        within(to, meta.size)?;
    }
    let target = Target::open(to_store, to, Parents::Make)?;
    let outcome = (|| {
        // Somebody may put a directory in the place of the file right now. So a
        // rename needs consent for a whole tree; without it, content is copied.
        let any_kind = source.covers_tree() && target.covers_tree();
        if meta.kind == Kind::Dir && !any_kind {
            return Err(Fault::Guarded);
        }
        if meta.kind == Kind::Dir
            && let Some(path) = guarded_in(from_store, &source, &target)?
        {
            return Err(Fault::HoldsGuarded { path });
        }
        let by_content = meta.kind == Kind::File && from.shown().is_some();
        if same_store && any_kind && !by_content {
            let dir = target.dir();
            let before = compared(from_store, from, source.dir(), source.name, meta.kind)?;
            if overwrite == Overwrite::Yes {
                is_as_shown(dir, target.name, to.shown(), "the destination")?;
            }
            let created = matches!(dir.stat(target.name), Err(Fault::NotFound { .. }));
            if source.dir().rename(source.name, dir, target.name, overwrite)?.is_some() {
                if before == Compared::AsShown
                    && let Err(fault) = compared(to_store, from, dir, target.name, meta.kind)
                {
                    dir.rename(target.name, source.dir(), source.name, Overwrite::No)?;
                    return Err(fault);
                }
                let bytes = if meta.kind == Kind::File { meta.size } else { 0 };
                return Ok(Relocated { kind: meta.kind, bytes, created });
            }
        }
        match meta.kind {
            Kind::File => {
                let file = source.dir().open_file(source.name)?;
                let permissions = Permissions::OfSource;
                let relocated = copy_to(&*file, from, &target, overwrite, permissions)?;
                if source.dir().stat(source.name)?.version != file.meta().version {
                    // Written to meanwhile: it stays, so that nothing is lost.
                    return Err(Fault::Stale { current: None });
                }
                source.dir().remove_file(source.name)?;
                Ok(relocated)
            }
            Kind::Dir => Err(Fault::TreeAcross),
            Kind::Link => Err(Fault::Link { target: None }),
            Kind::Special => Err(Fault::Special),
        }
    })();
    target.settle(to_store, outcome)
}

/// Whether an entry was compared with what a question showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compared {
    AsShown,
    NotAsked,
}

/// Fails unless a directory or link is the one that a question showed at `from`.
fn compared(
    store: &dyn Store,
    from: &Place,
    dir: &dyn Dir,
    name: &[u8],
    kind: Kind,
) -> Result<Compared, Fault> {
    let Some(shown) = from.shown() else { return Ok(Compared::NotAsked) };
    let (found, what) = match kind {
        Kind::Dir => {
            let top = dir.real_path().join(name);
            (fingerprint::tree(store, &top, 0)?.fingerprint, "the directory")
        }
        Kind::Link => (fingerprint::link(&dir.read_link(name)?), "the link"),
        Kind::File => return Err(Fault::Changed { what: "the file" }),
        Kind::Special => (fingerprint::unseen(&Fault::Special), "it"),
    };
    if found == shown { Ok(Compared::AsShown) } else { Err(Fault::Changed { what }) }
}

/// Looks through a directory that is to be moved for files that the consent for
/// the move does not cover, where they are or where they would be.
fn guarded_in(
    store: &dyn Store,
    source: &Target<'_>,
    target: &Target<'_>,
) -> Result<Option<RelPath>, Fault> {
    let mut pending = vec![RelPath::root()];
    let mut left = MAX_ENTRIES;
    while let Some(below) = pending.pop() {
        let dir = store.open_plain_dir(&source.real.join_rel(&below))?;
        let mut found = None;
        dir.entries(&mut |name, kind| {
            let path = below.join(name);
            let covered = |at: &Target<'_>| at.place.covers(&at.real.join_rel(&path), Reach::File);
            if left == 0 || !covered(source) || !covered(target) {
                found = Some(path);
                return ControlFlow::Break(());
            }
            left -= 1;
            if kind == Kind::Dir {
                pending.push(path);
            }
            ControlFlow::Continue(())
        })?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Copies a file. Missing directories are made.
pub fn copy(
    from_store: &dyn Store,
    from: &Place,
    to_store: &dyn Store,
    to: &Place,
    overwrite: Overwrite,
) -> Result<Relocated, Fault> {
    let file = open_file(from_store, from)?;
    within(to, file.meta().size)?;
    let target = Target::open(to_store, to, Parents::Make)?;
    let outcome = copy_to(&*file, from, &target, overwrite, Permissions::OfReplaced);
    target.settle(to_store, outcome)
}

fn copy_to(
    file: &dyn File,
    from: &Place,
    target: &Target<'_>,
    overwrite: Overwrite,
    permissions: Permissions,
) -> Result<Relocated, Fault> {
    let limits = [from.max_file_bytes(), target.place.max_file_bytes()];
    let limit = limits.into_iter().flatten().min();
    let source = Source::File { file, limit, shown: from.shown(), permissions };
    let created = target.replace(source, overwrite, "the destination")?;
    Ok(Relocated { kind: Kind::File, bytes: file.meta().size, created })
}
