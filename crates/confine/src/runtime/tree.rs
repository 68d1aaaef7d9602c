//! The entries of a runtime as they come together.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::deny::Deny;
use super::look::Look;
use crate::plan::{Access, Bind, Entry, Role};

/// What became of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placed {
    /// It got a place of its own.
    New,
    /// It is in something that has a place.
    Covered,
    /// It never gets a place.
    Refused,
    /// There is no such path.
    Missing,
}

impl Placed {
    /// Returns whether the path is in the tree.
    pub(super) fn is_there(self) -> bool {
        matches!(self, Placed::New | Placed::Covered)
    }
}

/// The entries so far.
#[derive(Debug)]
pub(super) struct Tree<'h> {
    /// The files of the host.
    pub(super) look: Rc<Look<'h>>,
    /// What never gets a place.
    pub(super) deny: Deny,
    granted: Vec<PathBuf>,
    entries: Vec<Entry>,
}

impl<'h> Tree<'h> {
    /// Starts with nothing but what the caller places.
    pub(super) fn new(look: Rc<Look<'h>>, home: Option<&Path>, granted: &[PathBuf]) -> Self {
        // Both the path as given and the path that it leads to.
        let both = |path: &Path| {
            let real = look.resolve(path).map(|at| at.real.clone());
            std::iter::once(path.to_path_buf()).chain(real)
        };
        // Every path would lie in an empty one.
        let granted = granted.iter().filter(|path| path.is_absolute());
        let granted = granted.flat_map(|path| both(path)).collect();
        let deny = Deny::new(home.into_iter().flat_map(both));
        Self { look, deny, granted, entries: Vec::new() }
    }

    /// Returns whether `path`, which has no links in it, lies in a granted one.
    pub(super) fn is_granted(&self, path: &Path) -> bool {
        self.granted.iter().any(|granted| path.starts_with(granted))
    }

    /// Returns whether `path`, which has no links in it, is in the tree.
    pub(super) fn covers(&self, path: &Path) -> bool {
        self.is_granted(path)
            || self.binds().any(|bind| bind.host == bind.at && path.starts_with(&bind.at))
    }

    /// Returns whether `path` leads to something in the tree.
    pub(super) fn leads_to(&self, path: &Path) -> bool {
        self.look.resolve(path).is_some_and(|at| self.covers(&at.real))
    }

    /// Places what `path` leads to at its own real path, read-only, and the
    /// links that lead there at theirs.
    pub(super) fn place(&mut self, path: &Path, role: Role) -> Placed {
        let Some(at) = self.look.resolve(path) else { return Placed::Missing };
        let covered = self.covers(&at.real);
        if !covered && self.deny.refuses(&at.real) {
            return Placed::Refused;
        }
        for (place, text) in at.links.iter().cloned() {
            if !self.covers(&place) && !self.has_at(&place) {
                self.entries.push(Entry::Link { at: place, to: text });
            }
        }
        if covered {
            return Placed::Covered;
        }
        // What was placed of it before comes with it now.
        self.entries.retain(|entry| match entry {
            Entry::Bind(bind) => bind.host != bind.at || !bind.at.starts_with(&at.real),
            Entry::Link { at: place, .. } => !place.starts_with(&at.real),
            Entry::Private { .. } | Entry::File { .. } => true,
        });
        self.bind(at.real.clone(), at.real.clone(), role);
        Placed::New
    }

    /// Places what `path` leads to at `at`, read-only. Nothing is refused: for
    /// paths that are named in the code, not found.
    pub(super) fn place_at_unchecked(&mut self, path: &Path, at: PathBuf, role: Role) -> Placed {
        let Some(found) = self.look.resolve(path) else { return Placed::Missing };
        if self.has_at(&at) {
            return Placed::Covered;
        }
        self.bind(found.real.clone(), at, role);
        Placed::New
    }

    /// Places what `path` leads to at `at`, read-only.
    pub(super) fn place_at(&mut self, path: &Path, at: PathBuf, role: Role) -> Placed {
        match self.look.resolve(path) {
            None => Placed::Missing,
            Some(found) if self.deny.refuses(&found.real) => Placed::Refused,
            Some(_) => self.place_at_unchecked(path, at, role),
        }
    }

    /// Places a link.
    pub(super) fn link(&mut self, at: impl Into<PathBuf>, to: impl Into<PathBuf>) {
        self.entries.push(Entry::Link { at: at.into(), to: to.into() });
    }

    /// Places an empty directory that can be written.
    pub(super) fn private(&mut self, at: &Path) {
        self.entries.push(Entry::Private { at: at.to_path_buf() });
    }

    /// Places a small file.
    pub(super) fn file(&mut self, at: impl Into<PathBuf>, content: String) {
        self.entries.push(Entry::File { at: at.into(), content });
    }

    /// Returns the entries, in the order in which they are placed.
    pub(super) fn into_entries(self) -> Vec<Entry> {
        self.entries
    }

    fn has_at(&self, at: &Path) -> bool {
        self.entries.iter().any(|entry| entry.at() == at)
    }

    fn bind(&mut self, host: PathBuf, at: PathBuf, role: Role) {
        let bind = Bind { host, at, access: Access::Ro, role, identity: None };
        self.entries.push(Entry::Bind(bind));
    }

    fn binds(&self) -> impl Iterator<Item = &Bind> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Bind(bind) => Some(bind),
            _ => None,
        })
    }
}
