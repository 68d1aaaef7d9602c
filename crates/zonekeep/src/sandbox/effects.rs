//! What a worker does with files: each a call of `perform`.

use std::sync::Arc;

use zonekeep_files::edit::{Edit, Edited};
use zonekeep_files::list::{Branch, GlobOptions, Listing};
use zonekeep_files::preview::Shown;
use zonekeep_files::read::{Content, Page};
use zonekeep_files::search::Query;
use zonekeep_files::stat::Facts;
use zonekeep_files::write::{WriteOptions, Written};
use zonekeep_files::{self as files, Fault, Overwrite, Store};
use zonekeep_policy::{Action, Approval, Permit, Place, Verb};

use super::Sandbox;
use super::found::{Branches, Listed, Matches, Paths, below_root, shown};
use crate::error::Error;
use crate::perform::{Call, Done};

/// The most characters of a diff that a question shows.
const MAX_DIFF: usize = 100_000;
/// The most edits that a question writes out beside the diff.
const MAX_SHOWN_EDITS: usize = 20;

impl Sandbox {
    /// Reads a page of a text file, or an image.
    pub fn read(&self, path: &str, page: &Page) -> Result<Content, Error> {
        let target = self.target("read_file", Verb::Read, path)?;
        self.perform(Call::of(Action::new("read_file", Verb::Read, target)), |this, permit| {
            let (store, place) = this.existing(permit.place())?;
            let content = files::read::read(&*store, place, page)?;
            let bytes = match &content {
                Content::Text(text) => text.content.len() as u64,
                Content::Image { bytes, .. } => bytes.len() as u64,
            };
            Ok(Done { value: content, bytes: Some(bytes) })
        })
    }

    /// Reads bytes as they are, from `offset` on, with the hash of the whole
    /// file where that is known.
    pub fn read_bytes(
        &self,
        path: &str,
        offset: u64,
        limit: usize,
    ) -> Result<files::read::Bytes, Error> {
        let target = self.target("read_file", Verb::Read, path)?;
        self.perform(Call::of(Action::new("read_file", Verb::Read, target)), |this, permit| {
            let (store, place) = this.existing(permit.place())?;
            let value = files::read::read_bytes(&*store, place, offset, limit)?;
            let bytes = Some(value.bytes.len() as u64);
            Ok(Done { value, bytes })
        })
    }

    /// Reads a whole text file.
    ///
    /// Fails for a file that is longer than one page, so that nothing is cut
    /// without notice; use [`read`](Sandbox::read) for those.
    pub fn read_text(&self, path: &str) -> Result<String, Error> {
        let page = Page { limit: u64::MAX, ..Page::default() };
        match self.read(path, &page)? {
            Content::Text(text) if !text.truncated => Ok(text.content),
            Content::Text(text) => Err(self.failed(
                Verb::Read,
                path,
                Fault::TooLarge { size: text.bytes, limit: page.max_chars as u64 },
            )),
            Content::Image { bytes, mime, .. } => {
                Err(self.failed(Verb::Read, path, Fault::Binary { mime, size: bytes.len() as u64 }))
            }
        }
    }

    /// Creates or replaces a file, with the directories above it.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> Result<Written, Error> {
        self.write_with(path, content, &WriteOptions::default())
    }

    /// Creates, replaces or appends to a file, with the directories above it.
    pub fn write_with(
        &self,
        path: &str,
        content: impl AsRef<[u8]>,
        options: &WriteOptions<'_>,
    ) -> Result<Written, Error> {
        let content = content.as_ref();
        let target = self.target("write_file", Verb::Write, path)?;
        let action = Action::new("write_file", Verb::Write, target).bytes(content.len() as u64);
        let diff = |this: &Sandbox, permit: &Permit| {
            let place = permit.place()?;
            let store = this.store(place.mount());
            let append = options.append;
            Some(files::preview::writing(store.as_deref(), place, content, append, MAX_DIFF))
        };
        let mut details = vec![("bytes".to_owned(), content.len().to_string())];
        if options.append {
            details.push(("append".to_owned(), "true".to_owned()));
        }
        self.perform(Call { action, details, diff: Some(&diff) }, |this, permit| {
            let (store, place) = this.made(permit.place())?;
            let mut value = files::write::write(&*store, place, content, options)?;
            let zone = &this.grant().view().mount_at(place.mount()).zone;
            if options.append && zone.approval.read.value != Approval::PreApproved {
                // It would tell whether a guess at what was there is right.
                value.hash = None;
            }
            Ok(Done { value, bytes: Some(content.len() as u64) })
        })
    }

    /// Replaces parts of a text file: all of `edits`, or nothing.
    pub fn edit(
        &self,
        path: &str,
        edits: &[Edit],
        expected_hash: Option<&str>,
    ) -> Result<Edited, Error> {
        let target = self.target("edit_file", Verb::Edit, path)?;
        let action = Action::new("edit_file", Verb::Edit, target);
        let diff = |this: &Sandbox, permit: &Permit| {
            let place = permit.place()?;
            let store = this.store(place.mount());
            Some(files::preview::editing(store.as_deref(), place, edits, MAX_DIFF))
        };
        let mut details = Vec::new();
        for edit in edits.iter().take(MAX_SHOWN_EDITS) {
            details.push(("old_string".to_owned(), edit.old.clone()));
            details.push(("new_string".to_owned(), edit.new.clone()));
            if edit.replace_all {
                details.push(("replace_all".to_owned(), "true".to_owned()));
            }
        }
        if edits.len() > MAX_SHOWN_EDITS {
            details.push(("edits".to_owned(), format!("{} in all", edits.len())));
        }
        let call = Call { action, details, diff: Some(&diff) };
        self.perform(call, |this, permit| {
            let (store, place) = this.existing(permit.place())?;
            let value = files::edit::edit(&*store, place, edits, expected_hash)?;
            let bytes = Some(value.bytes);
            Ok(Done { value, bytes })
        })
    }

    /// Returns the names in a directory, at most `limit` of them.
    pub fn list(&self, path: &str, limit: usize) -> Result<Listed, Error> {
        self.list_with(path, limit, |store, place| files::list::names(store, place, limit))
    }

    /// Returns the names of the files and directories in a directory that git
    /// would not leave out, at most `limit` of them.
    pub fn list_unignored(&self, path: &str, limit: usize) -> Result<Listed, Error> {
        let options = GlobOptions { gitignore: true, limit, ..GlobOptions::default() };
        self.list_with(path, limit, |store, place| {
            let mut listing = Listing { entries: Vec::new(), total: 0, truncated: false };
            for (pattern, kind) in [("*", files::Kind::File), ("*/", files::Kind::Dir)] {
                let found = files::list::glob(store, place, pattern, &options)?;
                listing.total += found.total;
                let names = found.paths.into_iter();
                listing.entries.extend(names.map(|name| files::list::Entry { name, kind }));
            }
            listing.entries.sort_by(|a, b| a.name.cmp(&b.name));
            listing.entries.truncate(limit);
            Ok(listing)
        })
    }

    fn list_with(
        &self,
        path: &str,
        limit: usize,
        look: impl Fn(&dyn Store, &Place) -> Result<Listing, Fault>,
    ) -> Result<Listed, Error> {
        let target = self.target("list_files", Verb::List, path)?;
        let shown = target.path.to_string();
        self.perform(Call::of(Action::new("list_files", Verb::List, target)), |this, permit| {
            let listing = match permit.place() {
                None => this.list_root(limit),
                Some(place) => match this.store(place.mount()) {
                    Some(store) => look(&*store, place)?,
                    None if place.path().is_root() => {
                        Listing { entries: Vec::new(), total: 0, truncated: false }
                    }
                    None => return Err(missing()),
                },
            };
            let entries = listing.entries.iter().map(|e| (e.shown(), e.kind)).collect();
            let value = Listed { path: shown, entries, total: listing.total };
            Ok(Done { value, bytes: None })
        })
    }

    fn list_root(&self, limit: usize) -> Listing {
        let mut names = self.tops();
        names.sort_unstable();
        let total = names.len() as u64;
        let entries = names.into_iter().take(limit).map(|name| files::list::Entry {
            name: name.as_bytes().to_vec(),
            kind: files::Kind::Dir,
        });
        Listing { entries: entries.collect(), total, truncated: total > limit as u64 }
    }

    /// Returns the files below a directory whose paths match a pattern.
    pub fn find(&self, path: &str, pattern: &str, options: &GlobOptions) -> Result<Paths, Error> {
        let target = self.target("list_files", Verb::Find, path)?;
        let at_root = target.path.is_root();
        self.perform(Call::of(Action::new("list_files", Verb::Find, target)), |this, permit| {
            let mut found = Paths::default();
            for place in permit.places() {
                let Some(store) = this.store(place.mount()) else {
                    if place.path().is_root() { continue } else { return Err(missing()) }
                };
                let name = &this.top(place);
                let Some(pattern) = below_root(at_root, pattern, name)? else { continue };
                if at_root && pattern.is_empty() {
                    // The pattern is for the top directories themselves.
                    found.total += 1;
                    found.paths.push(name.to_string());
                    continue;
                }
                let globbed = files::list::glob(&*store, place, pattern, options)?;
                found.total += globbed.total;
                found.unreadable += globbed.unreadable;
                found.paths.extend(globbed.paths.iter().map(|path| shown(at_root, name, path)));
            }
            if permit.places().len() > 1 {
                found.paths.sort();
                found.paths.truncate(options.limit);
            }
            Ok(Done { value: found, bytes: None })
        })
    }

    /// Returns what lies below a directory, at most `depth` levels down.
    pub fn tree(&self, path: &str, depth: usize, options: &GlobOptions) -> Result<Branches, Error> {
        let target = self.target("list_files", Verb::Find, path)?;
        let at_root = target.path.is_root();
        self.perform(Call::of(Action::new("list_files", Verb::Find, target)), |this, permit| {
            let (mut found, mut total, mut unreadable) = (Vec::new(), 0, 0);
            for place in permit.places() {
                let name = &this.top(place);
                if at_root {
                    let kind = files::Kind::Dir;
                    found.push(Branch { level: 0, path: name.as_bytes().to_vec(), kind });
                    total += 1;
                }
                let Some(store) = this.store(place.mount()) else {
                    if place.path().is_root() { continue } else { return Err(missing()) }
                };
                let depth = depth - usize::from(at_root);
                if depth == 0 {
                    continue;
                }
                let tree = files::list::tree(&*store, place, depth, options)?;
                total += tree.total;
                unreadable += tree.unreadable;
                found.extend(tree.entries.into_iter().map(|branch| match at_root {
                    true => Branch {
                        level: branch.level + 1,
                        path: [name.as_bytes(), &branch.path].join(&b'/'),
                        ..branch
                    },
                    false => branch,
                }));
            }
            let value = Branches::of(found, options.limit, total, unreadable);
            Ok(Done { value, bytes: None })
        })
    }

    /// Returns the lines below a directory that match a regular expression.
    pub fn search(&self, path: &str, query: &Query<'_>) -> Result<Matches, Error> {
        let target = self.target("search_files", Verb::Search, path)?;
        let at_root = target.path.is_root();
        self.perform(Call::of(Action::new("search_files", Verb::Search, target)), |this, permit| {
            let mut all = Matches::default();
            for place in permit.places() {
                let Some(store) = this.store(place.mount()) else {
                    if place.path().is_root() { continue } else { return Err(missing()) }
                };
                let name = &this.top(place);
                let glob = match query.glob {
                    None => None,
                    // Without a slash it is for names at any depth.
                    Some(glob) if !glob.contains('/') => Some(glob),
                    Some(glob) => match below_root(at_root, glob, name)? {
                        Some(glob) => Some(glob),
                        None => continue,
                    },
                };
                let query = Query { glob, ..query.clone() };
                all.add(files::search::search(&*store, place, &query)?, at_root, name);
            }
            all.files.sort_by(|a, b| a.0.cmp(&b.0));
            all.keep(query.limit);
            Ok(Done { value: all, bytes: None })
        })
    }

    /// Removes a file, a link or an empty directory.
    pub fn delete(&self, path: &str) -> Result<(), Error> {
        let target = self.target("delete_file", Verb::Delete, path)?;
        self.perform(Call::of(Action::new("delete_file", Verb::Delete, target)), |this, permit| {
            let (store, place) = this.existing(permit.place())?;
            files::delete::delete(&*store, place)?;
            Ok(Done { value: (), bytes: None })
        })
    }

    /// Gives a file or directory another path.
    pub fn rename(&self, from: &str, to: &str, overwrite: Overwrite) -> Result<(), Error> {
        let target = self.target("move_file", Verb::Move, from)?;
        let second = self.target("move_file", Verb::Move, to)?;
        let action = Action::new("move_file", Verb::Move, target).to(second);
        let details = vec![("overwrite".to_owned(), (overwrite == Overwrite::Yes).to_string())];
        let diff = |this: &Sandbox, permit: &Permit| arriving(this, permit, files::preview::moving);
        self.perform(Call { action, details, diff: Some(&diff) }, |this, permit| {
            let (store, place) = this.existing(permit.place())?;
            let (to_store, to_place) = this.made(permit.to())?;
            let moved = files::relocate::rename(&*store, place, &*to_store, to_place, overwrite)?;
            Ok(Done { value: (), bytes: Some(moved.bytes) })
        })
    }

    /// Copies a file; returns how many bytes it has.
    pub fn copy(&self, from: &str, to: &str, overwrite: Overwrite) -> Result<u64, Error> {
        let target = self.target("copy_file", Verb::Copy, from)?;
        let second = self.target("copy_file", Verb::Copy, to)?;
        let action = Action::new("copy_file", Verb::Copy, target).to(second);
        let details = vec![("overwrite".to_owned(), (overwrite == Overwrite::Yes).to_string())];
        let diff =
            |this: &Sandbox, permit: &Permit| arriving(this, permit, files::preview::copying);
        self.perform(Call { action, details, diff: Some(&diff) }, |this, permit| {
            let (store, place) = this.existing(permit.place())?;
            let (to_store, to_place) = this.made(permit.to())?;
            let copied = files::relocate::copy(&*store, place, &*to_store, to_place, overwrite)?;
            Ok(Done { value: copied.bytes, bytes: Some(copied.bytes) })
        })
    }

    /// Returns kind, size, time and content hash of an entry.
    ///
    /// `None` stands for a directory that is not on disk: the root of the view,
    /// or one that is made on the first write.
    pub fn info(&self, path: &str) -> Result<Option<Facts>, Error> {
        let target = self.target("file_info", Verb::Info, path)?;
        self.perform(Call::of(Action::new("file_info", Verb::Info, target)), |this, permit| {
            let value = match permit.place() {
                None => None,
                Some(place) => match this.store(place.mount()) {
                    Some(store) => Some(files::stat::info(&*store, place)?),
                    None if place.path().is_root() => None,
                    None => return Err(missing()),
                },
            };
            Ok(Done { value, bytes: None })
        })
    }

    /// Returns whether there is something at a path.
    pub fn exists(&self, path: &str) -> Result<bool, Error> {
        match self.info(path) {
            Ok(_) => Ok(true),
            Err(Error::Failed(failure))
                if matches!(failure.fault, Fault::NotFound { .. } | Fault::NotADirectory) =>
            {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn failed(&self, verb: Verb, path: &str, fault: Fault) -> Error {
        Error::failed(verb.phrase(), path, fault)
    }

    /// Returns the agent path of the directory that a place is in, relative to the root.
    fn top(&self, place: &Place) -> zonekeep_policy::RelPath {
        self.grant().view().mount_at(place.mount()).path().as_rel().clone()
    }

    /// Returns the store behind a place, for work on what is there.
    fn existing<'p>(&self, place: Option<&'p Place>) -> Result<(Arc<dyn Store>, &'p Place), Fault> {
        let place = place.ok_or(Fault::IsDirectory)?;
        let store = self.store(place.mount()).ok_or_else(missing)?;
        Ok((store, place))
    }

    /// Returns the store behind a place, for work that may make it.
    fn made<'p>(&self, place: Option<&'p Place>) -> Result<(Arc<dyn Store>, &'p Place), Fault> {
        let place = place.ok_or(Fault::IsDirectory)?;
        self.backing(place.mount()).make()?;
        Ok((self.store(place.mount()).ok_or(Fault::Gone)?, place))
    }
}

/// Shows what would be at the second place of a copy or a move.
type Relocating = fn(Option<&dyn Store>, &Place, Option<&dyn Store>, &Place, usize) -> Shown;

/// Writes out what would be at the second place, so that a yes is for this content
/// and no other.
fn arriving(this: &Sandbox, permit: &Permit, show: Relocating) -> Option<Shown> {
    let (from, to) = (permit.place()?, permit.to()?);
    let (store, to_store) = (this.store(from.mount()), this.store(to.mount()));
    Some(show(store.as_deref(), from, to_store.as_deref(), to, MAX_DIFF))
}

fn missing() -> Fault {
    Fault::NotFound { similar: Vec::new() }
}
