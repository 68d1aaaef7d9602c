//! Decides about one entry.

use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::{AtFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use zonekeep_policy::path::RelPath;
use zonekeep_policy::planted::{
    Change, Committed, Content, Level, Listed, Outcome, Planted, Side, hooks_dirs, is_harmless,
};

use super::before::{Identity, Is, MAX_KEPT, What};
use super::keys::Keys;
use super::rules::{DECLARED, pattern_of};
use super::sieve::Class;
use super::walk::View;
use super::watches::Number;
use super::{Guard, PATIENCE, WRITING, leads};
use crate::launcher::tree::Fixed;
use crate::plan::Access;
use crate::quarantine::Approved;
use crate::quarantine::handles::open_file;
use crate::report::Fate;

/// A name in an open directory, and all that is known about where it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot<'s> {
    pub(super) zone: usize,
    pub(super) dir: BorrowedFd<'s>,
    pub(super) watch: Number,
    pub(super) name: &'s [u8],
    /// Below the zone.
    pub(super) path: &'s RelPath,
    /// Below each directory on the way that is laid out as a repository.
    pub(super) bares: &'s [RelPath],
    pub(super) class: Class,
}

/// The pattern that guards an entry, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ward {
    pub(super) pattern: String,
    pub(super) level: Level,
    /// Whether a change is undone while the command runs.
    pub(super) at_once: bool,
    /// How many names come before the match, where content of a clone may stay.
    pub(super) clone_depth: Option<usize>,
}

impl Ward {
    /// Guards a file that makes git run programs.
    pub(super) fn strict(pattern: &str) -> Self {
        let pattern = pattern.to_owned();
        Ward { pattern, level: Level::Block, at_once: true, clone_depth: None }
    }

    /// Returns what becomes of a change that does not stay.
    pub(super) fn fate(&self) -> Fate {
        match self.level {
            Level::Block => Fate::Undone,
            Level::Ask | Level::Report => Fate::Held,
        }
    }
}

/// What the policy says, as a value of its own.
#[derive(Debug)]
pub(super) enum Ruling {
    Free,
    Guarded(Ward),
    Depends(Content),
}

impl Guard {
    pub(super) fn ruling(&self, spot: &Spot<'_>, is: Is) -> Ruling {
        self.rule(spot, self.rules.find(spot.zone, spot.path, spot.bares, is, spot.class))
    }

    fn rule(&self, spot: &Spot<'_>, found: Planted<'_>) -> Ruling {
        match found {
            Planted::Free => Ruling::Free,
            Planted::Guarded(pattern) => Ruling::Guarded(Ward::strict(pattern)),
            Planted::Listed(Listed { pattern, level, at_once, depth, clone_depth }) => {
                let at_once = at_once && self.is_top(spot.zone, spot.path, depth);
                let ward = Ward { pattern: pattern.to_owned(), level, at_once, clone_depth };
                // No program has a new directory open, and what is a clone is known at the end.
                let is_live = at_once && !self.is_in_new_tree(spot.zone, spot.path, &ward);
                Ruling::Guarded(Ward { at_once: is_live, ..ward })
            }
            Planted::Depends(content) => Ruling::Depends(content),
        }
    }

    /// Returns the ward of a directory, or of every file in it.
    pub(super) fn ward_of_tree(&self, spot: &Spot<'_>) -> Option<Ward> {
        let all = || self.rules.for_all_in(spot.zone, spot.path, spot.bares, spot.class);
        match self.ruling(spot, Is::Directory) {
            Ruling::Free if self.rules.approves_below(spot.path) => None,
            Ruling::Guarded(ward) => Some(ward),
            _ => match self.rule(spot, all()) {
                Ruling::Guarded(ward) => Some(ward),
                _ => None,
            },
        }
    }

    /// Returns whether the first names of a path lead to the top of a zone or work tree.
    fn is_top(&self, zone: usize, path: &RelPath, depth: usize) -> bool {
        let above = path.names().take(depth).fold(RelPath::root(), |path, name| path.join(name));
        depth == 0 || self.work_trees.contains(&(zone, above))
    }

    /// Returns the work tree that a path lies in, and the path below it.
    fn in_work_tree(&self, zone: usize, path: &RelPath) -> Option<(RelPath, RelPath)> {
        let names: Vec<&[u8]> = path.names().collect();
        let join =
            |names: &[&[u8]]| names.iter().fold(RelPath::root(), |path, name| path.join(name));
        (0..names.len()).rev().find_map(|depth| {
            let top = join(&names[..depth]);
            let is_tree = self.work_trees.contains(&(zone, top.clone()));
            is_tree.then(|| (top, join(&names[depth..])))
        })
    }

    /// Returns the work tree that a path lies in, and the path below it, where content of a
    /// clone may stay: not in one whose top is itself below the guarded name.
    fn in_clone_tree(
        &self,
        zone: usize,
        path: &RelPath,
        ward: &Ward,
    ) -> Option<(RelPath, RelPath)> {
        let depth = ward.clone_depth.filter(|_| ward.level == Level::Ask)?;
        self.in_work_tree(zone, path).filter(|(tree, _)| tree.names().count() <= depth)
    }

    /// Returns whether a path lies in a work tree that the command made in a new directory.
    fn is_in_new_tree(&self, zone: usize, path: &RelPath, ward: &Ward) -> bool {
        let Some(host) = self.zones.get(zone).map(|zone| &zone.host) else { return false };
        let tree = self.in_clone_tree(zone, path, ward);
        tree.is_some_and(|(tree, _)| self.directories.is_new(host, &tree))
    }

    /// Returns by what a file is known when it moves. One of a clone is not: in another
    /// place it is a plant.
    fn identity(&self, spot: &Spot<'_>, ward: &Ward) -> Option<Identity> {
        let tree = self.in_clone_tree(spot.zone, spot.path, ward);
        let tree = tree.and_then(|(tree, _)| self.host_path(spot.zone, &tree));
        match tree.is_some_and(|tree| self.history.is_clone(&tree)) {
            true => None,
            false => Identity::of(spot.dir, spot.name),
        }
    }

    /// Returns whether an existing entry stays writable: git has to be able to replace
    /// it, and a change can be judged and undone.
    pub(super) fn stays_writable(&self, spot: &Spot<'_>, ward: &Ward) -> bool {
        match ward.level {
            Level::Block => false,
            Level::Report => true,
            Level::Ask => {
                !self.history.is_empty() && self.in_work_tree(spot.zone, spot.path).is_some()
            }
        }
    }

    /// Notes something that is the user's.
    pub(super) fn note(&mut self, spot: &Spot<'_>, view: View) {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let Ok(stat) = rustix::fs::statat(spot.dir, spot.name, flags) else { return };
        let is = Is::of(&stat);
        let (depends, ward) = match self.ruling(spot, is) {
            Ruling::Free => return,
            Ruling::Guarded(ward) => (None, ward),
            Ruling::Depends(content) => (Some(content), Ward::strict(pattern_of(content))),
        };
        if is == Is::Link && ward.level > Level::Report {
            self.declare_end(spot, &ward);
        }
        let stays_writable = depends.is_none() && self.stays_writable(spot, &ward);
        // What is there when the first command starts can be made read-only.
        let may_fix = self.has_own_tree && view == View::Start && !stays_writable;
        // By another name it can be changed unseen, whatever becomes of this one.
        let linked = is == Is::File && stat.st_nlink > 1;
        if linked || !may_fix {
            // Before it is read, so that nothing can be written between.
            self.watches.add_content(spot.watch, spot.dir);
        }
        // What can be written can be written unseen: by another name, or in memory.
        if depends.is_some() || linked || !may_fix {
            self.see(spot);
        }
        let id = self.identity(spot, &ward);
        // What becomes read-only need not be remembered.
        let remember = depends.is_some() || linked || is == Is::Link || !may_fix;
        let what = if remember { what(spot, is) } else { None };
        if depends == Some(Content::GitConfig)
            && let Some(What::File(bytes)) = &what
        {
            self.declare(spot, bytes);
        }
        if view == View::Between {
            self.before.forget(spot.zone, spot.path);
        }
        let kept = what.is_some_and(|what| self.before.keep(spot.zone, spot.path, id, &stat, what));
        // A large file can be told from a changed one, but not be put back.
        if stays_writable && !kept {
            self.before.note_version(spot.zone, spot.path, &stat);
            if ward.level == Level::Ask && self.has_own_tree && view == View::Start {
                self.before.know(id);
                return self.fix(spot);
            }
            return;
        }
        let fixed = match depends {
            None => true,
            Some(Content::GitConfig) => !self.git_may_configure || !kept,
            Some(_) => !kept,
        };
        // A link cannot be made read-only.
        if fixed && may_fix && is != Is::Link {
            self.fix(spot);
            if !linked || !kept {
                self.before.know(id);
            }
            return;
        }
        if !kept {
            self.before.know(id);
        }
        self.watches.add_content(spot.watch, spot.dir);
    }

    /// Looks at something while commands run, or after them.
    pub(super) fn look_at(&mut self, spot: &Spot<'_>, view: View) {
        let Some(found) = stat(&mut self.keys, spot) else { return };
        let is = Is::of(&found);
        match (self.ruling(spot, is), is) {
            (Ruling::Free, _) => {}
            (Ruling::Guarded(ward), Is::Directory) => {
                self.look_at_directory(spot, &ward, view);
            }
            (Ruling::Depends(_), Is::Directory) => {}
            (Ruling::Guarded(ward), _) => self.look_at_guarded(spot, &found, &ward, view),
            (Ruling::Depends(content), _) => self.look_at_content(spot, &found, content, view),
        }
    }

    /// Decides about a directory; returns whether it stays. Files in one that does are
    /// judged one by one.
    pub(super) fn look_at_directory(&mut self, spot: &Spot<'_>, ward: &Ward, view: View) -> bool {
        if self.before.knows(Identity::of(spot.dir, spot.name)) {
            return true;
        }
        if ward.level == Level::Report {
            return true;
        }
        // Its files may be those of a commit.
        if ward.level == Level::Ask && !self.history.is_empty() {
            self.made.insert((spot.zone, spot.path.clone()));
            return true;
        }
        if !ward.at_once && view != View::Whole {
            self.see(spot);
            return true;
        }
        if self.is_approved(spot, Approved::Directory) {
            self.before.know_loose(Identity::of(spot.dir, spot.name));
            return true;
        }
        self.catch_tree(spot, ward);
        false
    }

    fn is_restored(&self, spot: &Spot<'_>, new: Option<&What>) -> bool {
        let approved = match new {
            Some(What::File(bytes)) => Approved::File(bytes),
            Some(What::Link(bytes)) => Approved::Link(bytes),
            None => return false,
        };
        self.is_approved(spot, approved)
    }

    /// Returns whether the user has restored this while the command ran.
    fn is_approved(&self, spot: &Spot<'_>, approved: Approved<'_>) -> bool {
        let host = self.host_path(spot.zone, spot.path).unwrap_or_default();
        approved.is_noted(&self.quarantine, host.as_os_str().as_bytes(), self.since)
    }

    fn look_at_guarded(&mut self, spot: &Spot<'_>, stat: &Stat, ward: &Ward, view: View) {
        let id = self.identity(spot, ward);
        let is = Is::of(stat);
        if self.before.knows(id) {
            return;
        }
        if !ward.at_once && view != View::Whole {
            return self.see(spot);
        }
        // Git makes a link for a moment, to see whether it can. And a file of a commit is
        // written piece by piece.
        let may_be_committed = ward.level < Level::Block && !self.history.is_empty();
        let is_link = is == Is::Link && !self.rules.is_named(spot.path);
        let is_early = view.is_early(is) && (is_link || may_be_committed);
        // An empty one says nothing yet.
        let is_empty = may_be_committed && is == Is::File && stat.st_size == 0 && !self.settles;
        if is_early || is_empty {
            self.see(spot);
            self.watches.add_content(spot.watch, spot.dir);
            if is_early {
                self.put_off(spot, if may_be_committed { WRITING } else { PATIENCE });
            }
            return;
        }
        if self.before.is_version(spot.zone, spot.path, stat) {
            return;
        }
        // Before it is read: what is accepted can be written to again.
        self.see(spot);
        self.watches.add_content(spot.watch, spot.dir);
        let new = what(spot, is);
        let kept = self.before.find(spot.zone, spot.path, id);
        let old = kept.and_then(|kept| kept.before.clone());
        match self.judge(spot.zone, spot.path, ward, old.as_ref(), side(new.as_ref())) {
            Outcome::Accept => self.before.rebase(spot.zone, spot.path, id, stat, new),
            Outcome::Report => {
                self.held.catch(spot.zone, spot.path, &ward.pattern, Fate::Reported);
                self.before.rebase(spot.zone, spot.path, id, stat, new);
            }
            Outcome::Hold if self.is_restored(spot, new.as_ref()) => {
                self.before.rebase(spot.zone, spot.path, id, stat, new);
            }
            Outcome::Hold => self.catch(spot, stat, ward, id),
        }
    }

    /// Has an entry looked at when the command has ended.
    fn see(&mut self, spot: &Spot<'_>) {
        self.must_sweep |= !self.before.see(spot.zone, spot.path, spot.bares, spot.class);
    }

    /// Judges a change of a guarded path.
    fn judge(
        &mut self,
        zone: usize,
        path: &RelPath,
        ward: &Ward,
        old: Option<&What>,
        new: Side<'_>,
    ) -> Outcome {
        let old = match old {
            Some(what) => side(Some(what)),
            None => Side::Missing,
        };
        let (old_committed, new_committed) = (Committed::No, Committed::No);
        let mut change = Change { old, new, old_committed, new_committed };
        // History is read only where it can change the judgement.
        if change.judge(ward.level) != Outcome::Accept && ward.level < Level::Block {
            let (tree, below) =
                self.in_work_tree(zone, path).unwrap_or_else(|| (RelPath::root(), path.clone()));
            let tree = self.host_path(zone, &tree).unwrap_or_default();
            let in_clones = self.in_clone_tree(zone, path, ward).is_some();
            change.new_committed = self.history.find(&tree, &below, new, in_clones);
            if new == Side::Missing {
                change.old_committed = self.history.find(&tree, &below, old, in_clones);
            }
        }
        change.judge(ward.level)
    }

    /// Judges the removal of an entry that existed before commands ran, when the command
    /// has ended: until then it may come back.
    pub(super) fn look_at_removed(
        &mut self,
        zone: usize,
        path: &RelPath,
        bares: &[RelPath],
        class: Class,
    ) {
        if !self.settles {
            self.must_sweep |= !self.before.see(zone, path, bares, class);
            return;
        }
        let Some(kept) = self.before.find(zone, path, None).cloned() else { return };
        let is = if matches!(kept.before, Some(What::Link(_))) { Is::Link } else { Is::File };
        let Some(old) = kept.before.clone() else { return };
        let found = self.rules.find(zone, path, bares, is, class);
        let Planted::Listed(Listed { pattern, level, clone_depth, .. }) = found else { return };
        let ward = Ward { pattern: pattern.to_owned(), level, at_once: false, clone_depth };
        match self.judge(zone, path, &ward, Some(&old), Side::Missing) {
            Outcome::Accept => self.before.forget(zone, path),
            Outcome::Report => {
                self.held.catch(zone, path, &ward.pattern, Fate::Reported);
                self.before.forget(zone, path);
            }
            Outcome::Hold => self.bring_back(zone, path, &ward, &kept),
        }
    }

    fn look_at_content(&mut self, spot: &Spot<'_>, found: &Stat, content: Content, view: View) {
        // Before it is read, so that nothing can be written between.
        self.watches.add_content(spot.watch, spot.dir);
        self.see(spot);
        // A rebase that the command finishes itself leaves nothing behind, and no other
        // program goes on with it.
        if content == Content::Unfinished && !self.settles {
            return;
        }
        let id = Identity::of(spot.dir, spot.name);
        let what = what(spot, Is::of(found));
        if self.before.knows(id) {
            if let (Content::GitConfig, Some(What::File(bytes))) = (content, &what) {
                self.declare(spot, bytes);
            }
            return;
        }
        let kept = self.before.find(spot.zone, spot.path, id);
        // By another name it can be changed unseen.
        let linked = Is::of(found) == Is::File
            && found.st_nlink > 1
            && kept.is_none_or(|kept| kept.before != what);
        let harmless = match &what {
            _ if linked => false,
            // Nobody has changed it.
            Some(_) if kept.is_some_and(|kept| kept.before == what) => true,
            // It is about to be written, and says nothing yet.
            Some(What::File(bytes)) if bytes.is_empty() => return,
            Some(What::File(bytes)) => {
                is_harmless(content, spot.path, bytes, kept.and_then(|kept| kept.bytes()))
            }
            Some(link) => kept.is_some_and(|kept| kept.before.as_ref() == Some(link)),
            None => false,
        };
        match what {
            Some(What::File(bytes)) if harmless => {
                if content == Content::GitConfig {
                    self.declare(spot, &bytes);
                }
                if matches!(view, View::Written | View::Whole) {
                    self.before.accept(spot.zone, spot.path, found, What::File(bytes));
                }
            }
            _ if harmless => {}
            _ if view.is_early(Is::of(found)) => self.put_off(spot, PATIENCE),
            _ => self.catch(spot, found, &Ward::strict(pattern_of(content)), id),
        }
    }

    /// Guards what a configuration takes hooks from.
    fn declare(&mut self, spot: &Spot<'_>, config: &[u8]) {
        let named = hooks_dirs(config);
        if named.is_empty() {
            return;
        }
        let Some(zone) = self.zones.get(spot.zone) else { return };
        let bytes = |path: &PathBuf| path.as_os_str().as_bytes().to_vec();
        let (host, at) = (bytes(&zone.host), bytes(&zone.at));
        let dir = spot.path.split_last().map(|(dir, _)| dir).unwrap_or_default();
        let git_dir = zone.host.join(OsStr::from_bytes(dir.as_bytes()));
        // Something new may be there already.
        self.must_sweep |= self.rules.declare(spot.zone, &host, &at, spot.path, &named);
        // By any other way that leads there.
        for text in &named {
            for path in leads::meant(text.as_bytes(), &git_dir, &self.home) {
                self.declare_way(&leads::follow(&path), (spot.zone, &dir), &Ward::strict(DECLARED));
            }
        }
    }

    /// Notes a link, or a file with another name, that becomes read-only with the
    /// directory it is in.
    pub(super) fn note_ways(&mut self, spot: &Spot<'_>, stat: &Stat) {
        let is = Is::of(stat);
        let Ruling::Guarded(ward) = self.ruling(spot, is) else { return };
        match is {
            Is::Link => self.declare_end(spot, &ward),
            _ => {
                let id = Identity::of(spot.dir, spot.name);
                if let Some(what) = what(spot, is)
                    && self.before.keep(spot.zone, spot.path, id, stat, what)
                {
                    self.see(spot);
                }
            }
        }
    }

    /// Guards what a guarded link leads to. Of a directory only where all in it
    /// is guarded for the link's name; a repository is known by its own look.
    fn declare_end(&mut self, spot: &Spot<'_>, ward: &Ward) {
        let Some(zone) = self.zones.get(spot.zone) else { return };
        let way = leads::follow(&zone.host.join(OsStr::from_bytes(spot.path.as_bytes())));
        let end = way.last().filter(|end| end.is_dir());
        let Some(end) = end else {
            return self.declare_way(&way, (spot.zone, spot.path), ward);
        };
        if self.rules.for_all_in(spot.zone, spot.path, spot.bares, spot.class) != Planted::Free {
            return self.declare_way(&way, (spot.zone, spot.path), ward);
        }
        // Parts of it, and the links that lead to them.
        for rest in self.rules.rests_below(spot.path).iter().filter(|rest| !rest.is_root()) {
            let part = end.join(OsStr::from_bytes(rest.as_bytes()));
            let mut way = way[..way.len() - 1].to_vec();
            way.push(part);
            self.declare_way(&way, (spot.zone, spot.path), ward);
        }
    }

    /// Guards what lies on a way, as far as it is in a zone: but for the place
    /// that it starts from, and what that is in.
    fn declare_way(&mut self, way: &[PathBuf], from: (usize, &RelPath), ward: &Ward) {
        for path in way {
            for zone in 0..self.zones.len() {
                let Some(below) = RelPath::below(&self.zones[zone].host, path) else { continue };
                if zone == from.0 && from.1.starts_with(&below) {
                    continue;
                }
                self.must_sweep |= self.rules.declare_at(zone, below, ward);
            }
        }
    }

    pub(super) fn fix(&mut self, spot: &Spot<'_>) {
        let Some(zone) = self.zones.get(spot.zone) else { return };
        let below = PathBuf::from(OsStr::from_bytes(spot.path.as_bytes()));
        self.fixed.push(Fixed { zone: zone.at.clone(), below, access: Access::Ro });
    }

    /// Notes a directory that lies deeper than anybody looks.
    pub(super) fn too_deep(&mut self, zone: usize, path: &RelPath, view: View) {
        if !view.trusts() {
            let ticket = self.held.catch(zone, path, "", Fate::Undone);
            self.held.fail(ticket, "it lies too deep to be guarded".to_owned());
        }
    }
}

/// Looks at what a name stands for; lets itself into the directory for that.
fn stat(keys: &mut Keys, spot: &Spot<'_>) -> Option<Stat> {
    let look = || rustix::fs::statat(spot.dir, spot.name, AtFlags::SYMLINK_NOFOLLOW);
    match look() {
        Err(Errno::ACCESS) => {
            keys.unlock(spot.dir).ok()?;
            look().ok()
        }
        result => result.ok(),
    }
}

/// Returns something that was found, as a side of a change.
fn side(what: Option<&What>) -> Side<'_> {
    match what {
        Some(What::File(bytes)) => Side::File(bytes),
        Some(What::Link(bytes)) => Side::Link(bytes),
        None => Side::Other,
    }
}

/// Returns what is there, unless it is neither a link nor a file that can be
/// kept.
fn what(spot: &Spot<'_>, is: Is) -> Option<What> {
    match is {
        Is::Link => {
            let link = rustix::fs::readlinkat(spot.dir, spot.name, Vec::new()).ok()?;
            Some(What::Link(link.into_bytes()))
        }
        Is::File => {
            let file = open_file(spot.dir, spot.name).ok()?;
            let stat = rustix::fs::fstat(&file).ok()?;
            if Is::of(&stat) != Is::File || stat.st_size > MAX_KEPT as i64 {
                return None;
            }
            let mut bytes = Vec::new();
            File::from(file).take(MAX_KEPT as u64 + 1).read_to_end(&mut bytes).ok()?;
            (bytes.len() <= MAX_KEPT).then_some(What::File(bytes))
        }
        Is::Directory | Is::Special => None,
    }
}
