//! The commits that commands did not make: content that they have at a path is not planted
//! there by a command that brings it back.
//!
//! Commands can write to a repository, so nothing in it counts by itself. The ids of
//! branches and tags are read while no command runs, and those that a command moved are
//! never taken over: a record in the state directory keeps the ids that count, and the ids
//! that the last command left. From these ids on every commit and tree is hashed again,
//! because a command can store other content under an id. Guarded files of the index count
//! in the same way: those that a command staged do not.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zonekeep_policy::path::{RelPath, escape};
use zonekeep_policy::planted::{Committed, Side};

use super::objects::{Format, Found, Id, Kind, Walk};
use super::references::{INDEX, References, git_dir, references, staged};
use super::sieve::Sieve;

/// How many repositories are followed from one command to the next. The record of another
/// one that a command made says that nothing in it counts.
const MAX_REPOSITORIES: usize = 1_000;
/// How many ids the record keeps.
const MAX_TIPS: usize = 5_000;
/// How often all commits are searched in vain, for one command.
const MAX_MISSES: usize = 1_000;
/// How many files of a clone are remembered without its commits.
const MAX_STAYED: usize = 2_000;
/// How many staged files of the user's the record keeps.
const MAX_STAGED: usize = 5_000;

/// What is known of a repository from one command to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// Ids that commands did not set, the oldest first.
    tips: Vec<Id>,
    /// The references as the last command left them; `None` where there are too many to
    /// tell which of them a command has set.
    left: Option<References>,
    /// Guarded files that commands did not stage.
    #[serde(default)]
    staged: BTreeSet<(String, Id)>,
    #[serde(default)]
    maker: Maker,
    /// Ids that the references had at the end of the command that made the repository in a
    /// new directory; they count there alone.
    #[serde(default)]
    cloned: Vec<Id>,
    /// Guarded files with content of these commits that stayed: when the repository is
    /// removed, its commits go first.
    #[serde(default)]
    stayed: BTreeSet<(String, Id)>,
}

impl Record {
    /// Lets nothing count any more that commands may have set.
    fn forget_ids(&mut self) {
        self.tips.clear();
        self.staged.clear();
    }

    /// Takes over the references that have changed since the last command ended.
    fn take_in(&mut self, now: Option<&References>) {
        let (Some(left), Some(now)) = (&self.left, now) else { return };
        let known: HashSet<&Id> = self.tips.iter().collect();
        let moved = now.iter().filter(|(name, id)| left.get(*name) != Some(id));
        let (files, moved): (Vec<_>, Vec<_>) = moved.partition(|(name, _)| name.starts_with(INDEX));
        if left.contains_key(INDEX) && now.contains_key(INDEX) {
            self.staged.extend(files.into_iter().map(|(name, id)| (name.clone(), id.clone())));
        }
        while self.staged.len() > MAX_STAGED {
            self.staged.pop_first();
        }
        let ids = moved.into_iter().map(|(_, id)| id);
        let new: BTreeSet<Id> = ids.filter(|id| !known.contains(id)).cloned().collect();
        self.tips.extend(new);
        let surplus = self.tips.len().saturating_sub(MAX_TIPS);
        self.tips.drain(..surplus);
    }
}

/// The references of a repository that is seen for the first time, before it had any.
fn none() -> References {
    [(INDEX.to_owned(), Id::of_bytes(&[]))].into()
}

/// All repositories of the writable zones.
#[derive(Debug)]
pub(super) struct History {
    git: PathBuf,
    state: PathBuf,
    /// Which files of an index are read.
    guarded: Sieve,
    repositories: Vec<Repository>,
    /// How often all commits may still be searched in vain.
    misses: usize,
}

impl History {
    /// Reads repositories with a program, and keeps records beside the quarantine.
    pub(super) fn new(git: &Path, quarantine: &Path, guarded: Sieve) -> Self {
        let (git, state) = (git.to_owned(), quarantine.with_file_name("history"));
        History { git, state, guarded, repositories: Vec::new(), misses: MAX_MISSES }
    }

    /// Returns whether there is no commit to compare with.
    pub(super) fn is_empty(&self) -> bool {
        let is_empty = |record: &Record| record.tips.is_empty() && record.cloned.is_empty();
        self.repositories.iter().all(|repository| is_empty(&repository.record))
    }

    /// Returns whether a work tree is one that a command made in a new directory.
    pub(super) fn is_clone(&self, work_tree: &Path) -> bool {
        self.repositories.iter().any(|repository| repository.is_clone(work_tree))
    }

    /// Adds the repository of a work tree. In one that no command has made the commits
    /// are the user's.
    pub(super) fn add(&mut self, work_tree: &Path, maker: Maker) {
        if self.git.as_os_str().is_empty() {
            return;
        }
        let Some(dir) = git_dir(work_tree) else { return };
        let tree = work_tree.to_owned();
        if let Some(known) = self.repositories.iter_mut().find(|known| known.dir == dir) {
            if maker == Maker::User && !known.trees.contains(&tree) {
                known.trees.push(tree);
            }
            return;
        }
        let name = Id::of_bytes(&Sha256::digest(dir.as_os_str().as_bytes()));
        let path = self.state.join(format!("{}.json", name.0));
        let trees = if maker == Maker::User { vec![tree] } else { Vec::new() };
        let mut added = Repository {
            dir,
            path,
            trees,
            record: Record::default(),
            mark: None,
            walks: [None, None],
        };
        match (added.stored(), maker) {
            (Some(record), _) => added.record = record,
            (None, Maker::Command) => added.record.maker = Maker::Command,
            // It is seen for the first time.
            (None, Maker::User) if !added.path.exists() => {
                added.record.left = Some(none());
                let now = references(&added.dir, &self.guarded);
                added.record.take_in(now.as_ref());
                added.record.left = now;
            }
            _ => {}
        }
        match (self.repositories.len() < MAX_REPOSITORIES, maker) {
            (true, _) => self.repositories.push(added),
            (false, Maker::User) => {}
            (false, Maker::Command) => drop(added.store()),
        }
    }

    /// Adds the repository of a work tree that the command made in a new directory of a zone.
    /// One that has been known before, or that lies elsewhere, is no clone.
    pub(super) fn add_clone(&mut self, work_tree: &Path, zone: &Path) {
        let known = self.repositories.len();
        self.add(work_tree, Maker::Command);
        let Some(added) = self.repositories.get_mut(known) else { return };
        if added.record.maker == Maker::Command && added.dir.starts_with(zone) {
            let ids = references(&added.dir, &self.guarded).into_iter().flatten();
            let ids = ids.filter(|(name, _)| !name.starts_with(INDEX)).map(|(_, id)| id);
            let ids: BTreeSet<Id> = ids.collect();
            added.record.cloned = ids.into_iter().take(MAX_TIPS).collect();
            added.trees.push(work_tree.to_owned());
        }
    }

    /// Puts marks that are there as long as the sandbox is, and takes over what the user has
    /// committed since the last command. `quiet` says that no other session runs commands,
    /// `session` which one this is.
    pub(super) fn start(&mut self, quiet: bool, session: i64) {
        for repository in &mut self.repositories {
            let others = repository.marks(session);
            repository.mark = repository.put_mark(session).ok();
            match (&repository.mark, others) {
                // Nothing would tell the next session of a sandbox that was killed.
                (None, _) => repository.record.forget_ids(),
                // Its commits cannot be told from the user's.
                (_, Marks::OfKilled) => {
                    if repository.stored().is_none() {
                        repository.record.forget_ids();
                    }
                    repository.record.left = references(&repository.dir, &self.guarded);
                }
                (_, Marks::None) if quiet => repository.take_in(&self.guarded),
                _ => {}
            }
            // Without a record a session that is killed would leave a repository that the
            // next one sees for the first time.
            if repository.store().is_err() {
                repository.record.forget_ids();
            }
        }
    }

    /// Takes over what the user has committed since the last command, while none runs.
    pub(super) fn take_in(&mut self) {
        self.repositories.iter_mut().for_each(|repository| repository.take_in(&self.guarded));
    }

    /// Records what a command has left.
    pub(super) fn end_command(&mut self) {
        self.misses = MAX_MISSES;
        for repository in &mut self.repositories {
            repository.record.left = references(&repository.dir, &self.guarded);
            // Git ends: the keeper waits for its children when the sandbox has ended.
            repository.walks = [None, None];
            // Without the record the mark stays when the sandbox is gone.
            match (repository.store(), &mut repository.mark) {
                (Err(_), Some(mark)) => mark.stays = true,
                (Ok(()), Some(mark)) => mark.stays = false,
                _ => {}
            }
        }
    }

    /// Returns whether a commit has a file or link at a path below its work tree: one of
    /// that work tree's own repository, or of any for a work tree or a repository that a
    /// command made, which may be a clone; and with `in_clones` one that came with it.
    pub(super) fn find(
        &mut self,
        work_tree: &Path,
        path: &RelPath,
        side: Side<'_>,
        in_clones: bool,
    ) -> Committed {
        let (content, is_link) = match side {
            Side::File(bytes) => (bytes, false),
            Side::Link(bytes) => (bytes, true),
            Side::Missing | Side::Other => return Committed::No,
        };
        let names: Vec<&[u8]> = path.names().collect();
        let (git, state) = (&self.git, &self.state);
        if self.misses == 0 {
            return Committed::No;
        }
        let own = |repository: &Repository| {
            repository.record.maker == Maker::User
                && repository.trees.iter().any(|tree| tree == work_tree)
        };
        let has_own = self.repositories.iter().any(own);
        let mut repositories =
            self.repositories.iter_mut().filter(|repository| !has_own || own(repository));
        let kind = Kind::of(is_link);
        let finds = |walk: &mut Option<Walk>, dir: &Path, tips: &[Id]| {
            let Some(format) = tips.first().map(Format::of) else { return false };
            let walk = walk.get_or_insert_with(|| Walk::new(git, state, dir, tips, format));
            walk.finds(&names, &Found { id: format.id("blob", content), kind })
        };
        let found = repositories.any(|repository| {
            let Repository { walks: [walk, _], dir, record, .. } = repository;
            let is_staged = record.staged.first().is_some_and(|(_, id)| {
                let id = Format::of(id).id("blob", content);
                record.staged.contains(&(staged(kind, path.as_bytes()), id))
            });
            is_staged || finds(walk, dir, &record.tips)
        });
        if found {
            return Committed::ByUser;
        }
        let mut clones =
            self.repositories.iter_mut().filter(|repository| repository.is_clone(work_tree));
        let found = in_clones
            && clones.any(|repository| {
                let Repository { walks: [_, walk], dir, record, .. } = repository;
                let Some(format) = record.cloned.first().map(Format::of) else { return false };
                let file = (escape(path.as_bytes()), format.id("blob", content));
                let found = record.stayed.contains(&file) || finds(walk, dir, &record.cloned);
                if found && record.stayed.len() < MAX_STAYED {
                    record.stayed.insert(file);
                }
                found
            });
        self.misses -= usize::from(!found);
        if found { Committed::InClone } else { Committed::No }
    }
}

/// Who made a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Maker {
    #[default]
    User,
    Command,
}

/// One repository.
#[derive(Debug)]
struct Repository {
    dir: PathBuf,
    /// The work trees that commands did not make.
    trees: Vec<PathBuf>,
    /// Where the record is kept.
    path: PathBuf,
    record: Record,
    mark: Option<Mark>,
    /// Through the commits of the user, and through those of a clone.
    walks: [Option<Walk>; 2],
}

impl Repository {
    fn is_clone(&self, work_tree: &Path) -> bool {
        !self.record.cloned.is_empty() && self.trees.iter().any(|tree| tree == work_tree)
    }

    fn stored(&self) -> Option<Record> {
        serde_json::from_slice(&fs::read(&self.path).ok()?).ok()
    }

    fn take_in(&mut self, guarded: &Sieve) {
        let before = self.record.tips.len();
        // Another session may have ended a command since.
        if let Some(record) = self.stored() {
            self.record.left = record.left;
        }
        self.record.take_in(references(&self.dir, guarded).as_ref());
        if self.record.tips.len() != before {
            self.walks = [None, None];
        }
    }

    /// Looks for marks of other sandboxes, and removes those of sandboxes that were killed.
    fn marks(&self, session: i64) -> Marks {
        let (Some(dir), Some(stem)) = (self.path.parent(), self.path.file_stem()) else {
            return Marks::OfKilled;
        };
        let mut found = Marks::None;
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let own = name.as_bytes().strip_prefix(stem.as_bytes());
            let Some(own) = own.filter(|name| name.ends_with(OPEN)) else { continue };
            let Ok(file) = fs::File::open(entry.path()) else { continue };
            let is_live = flock(&file, FlockOperation::NonBlockingLockShared).is_err();
            // One of another session says nothing: that may be idle.
            if is_live && own.starts_with(format!(".{session}.").as_bytes()) {
                found = found.max(Marks::OfSession);
            }
            if !is_live {
                found = Marks::OfKilled;
                let _ = fs::remove_file(entry.path());
            }
        }
        found
    }

    fn put_mark(&self, session: i64) -> io::Result<Mark> {
        if let Some(dir) = self.path.parent() {
            fs::create_dir_all(dir)?;
        }
        let name = format!("{session}.{}.open", std::process::id());
        let path = self.path.with_extension(name);
        let file = fs::File::create(&path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        // Before it was locked, another keeper may have taken it for one of a killed sandbox.
        if file.metadata()?.nlink() == 0 {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Mark { path, _file: file, stays: true })
    }

    fn store(&self) -> io::Result<()> {
        if self.stored().as_ref() == Some(&self.record) {
            return Ok(());
        }
        let dir = self.path.parent().ok_or(io::ErrorKind::NotFound)?;
        fs::create_dir_all(dir)?;
        let fresh = self.path.with_extension(format!("{}.new", std::process::id()));
        fs::write(&fresh, serde_json::to_vec(&self.record)?)?;
        fs::rename(fresh, &self.path)
    }
}

/// How the names of marks end.
const OPEN: &[u8] = b".open";

/// A file that is locked as long as commands can set references.
#[derive(Debug)]
struct Mark {
    path: PathBuf,
    _file: fs::File,
    /// Whether the mark tells the next session that a record is missing.
    stays: bool,
}

impl Drop for Mark {
    fn drop(&mut self) {
        if !self.stays {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether other marks are there that speak against taking references over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Marks {
    None,
    /// Another sandbox of this session stands.
    OfSession,
    /// A sandbox was killed before its record was written.
    OfKilled,
}
