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
use zonekeep_policy::planted::{Content, Planted, hooks_dirs, is_harmless};

use super::before::{Identity, Is, MAX_KEPT, What};
use super::keys::Keys;
use super::rules::{DECLARED, pattern_of};
use super::sieve::Class;
use super::walk::View;
use super::watches::Number;
use super::{Guard, leads};
use crate::launcher::tree::Fixed;
use crate::plan::Access;
use crate::quarantine::handles::open_file;

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

/// What the policy says, as a value of its own.
#[derive(Debug)]
pub(super) enum Ruling {
    Free,
    Guarded(String),
    Depends(Content),
}

impl Guard {
    pub(super) fn ruling(&self, spot: &Spot<'_>, is: Is) -> Ruling {
        match self.rules.find(spot.zone, spot.path, spot.bares, is, spot.class) {
            Planted::Free => Ruling::Free,
            Planted::Guarded(pattern) => Ruling::Guarded(pattern.to_owned()),
            Planted::Depends(content) => Ruling::Depends(content),
        }
    }

    /// Notes something that is the user's.
    pub(super) fn note(&mut self, spot: &Spot<'_>, view: View) {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let Ok(stat) = rustix::fs::statat(spot.dir, spot.name, flags) else { return };
        let is = Is::of(&stat);
        let (depends, pattern) = match self.ruling(spot, is) {
            Ruling::Free => return,
            Ruling::Guarded(pattern) => (None, pattern),
            Ruling::Depends(content) => (Some(content), pattern_of(content).to_owned()),
        };
        if is == Is::Link {
            self.declare_end(spot, &pattern);
        }
        // What is there when the first command starts can be made read-only.
        let may_fix = self.has_own_tree && view == View::Start;
        // By another name it can be changed unseen, whatever becomes of this one.
        let linked = is == Is::File && stat.st_nlink > 1;
        if linked || !may_fix {
            // Before it is read, so that nothing can be written between.
            self.watches.add_content(spot.watch, spot.dir);
        }
        // What can be written can be written unseen: by another name, or in memory.
        if depends.is_some() || linked || !may_fix {
            self.before.see(spot.zone, spot.path, spot.bares, spot.class);
        }
        let id = Identity::of(spot.dir, spot.name);
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
            (Ruling::Guarded(pattern), Is::Directory) => {
                if !self.before.knows(Identity::of(spot.dir, spot.name)) {
                    self.catch_tree(spot, &pattern);
                }
            }
            (Ruling::Depends(_), Is::Directory) => {}
            (Ruling::Guarded(pattern), _) => self.look_at_guarded(spot, &found, &pattern, view),
            (Ruling::Depends(content), _) => self.look_at_content(spot, &found, content, view),
        }
    }

    fn look_at_guarded(&mut self, spot: &Spot<'_>, stat: &Stat, pattern: &str, view: View) {
        let id = Identity::of(spot.dir, spot.name);
        let is = Is::of(stat);
        if self.before.knows(id) {
            return;
        }
        // Git makes a link for a moment, to see whether it can.
        if is == Is::Link && view.is_early(is) && !self.rules.is_named(spot.path) {
            return self.put_off(spot);
        }
        if let Some(kept) = self.before.find(spot.zone, spot.path, id)
            && kept.before.is_some()
            && kept.before == what(spot, is)
        {
            return;
        }
        self.catch(spot, stat, pattern, id);
    }

    fn look_at_content(&mut self, spot: &Spot<'_>, found: &Stat, content: Content, view: View) {
        // Before it is read, so that nothing can be written between.
        self.watches.add_content(spot.watch, spot.dir);
        self.before.see(spot.zone, spot.path, spot.bares, spot.class);
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
            _ if view.is_early(Is::of(found)) => self.put_off(spot),
            _ => self.catch(spot, found, pattern_of(content), id),
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
                self.declare_way(&leads::follow(&path), (spot.zone, &dir), DECLARED);
            }
        }
    }

    /// Notes a link, or a file with another name, that becomes read-only with the
    /// directory it is in.
    pub(super) fn note_ways(&mut self, spot: &Spot<'_>, stat: &Stat) {
        let is = Is::of(stat);
        let Ruling::Guarded(pattern) = self.ruling(spot, is) else { return };
        match is {
            Is::Link => self.declare_end(spot, &pattern),
            _ => {
                let id = Identity::of(spot.dir, spot.name);
                if let Some(what) = what(spot, is)
                    && self.before.keep(spot.zone, spot.path, id, stat, what)
                {
                    self.before.see(spot.zone, spot.path, spot.bares, spot.class);
                }
            }
        }
    }

    /// Guards what a guarded link leads to. Of a directory only where all in it
    /// is guarded for the link's name; a repository is known by its own look.
    fn declare_end(&mut self, spot: &Spot<'_>, pattern: &str) {
        let Some(zone) = self.zones.get(spot.zone) else { return };
        let way = leads::follow(&zone.host.join(OsStr::from_bytes(spot.path.as_bytes())));
        let end = way.last().filter(|end| end.is_dir());
        let Some(end) = end else {
            return self.declare_way(&way, (spot.zone, spot.path), pattern);
        };
        if self.rules.guards_all_in(spot.zone, spot.path, spot.bares, spot.class) {
            return self.declare_way(&way, (spot.zone, spot.path), pattern);
        }
        // Parts of it, and the links that lead to them.
        for rest in self.rules.rests_below(spot.path).iter().filter(|rest| !rest.is_root()) {
            let part = end.join(OsStr::from_bytes(rest.as_bytes()));
            let mut way = way[..way.len() - 1].to_vec();
            way.push(part);
            self.declare_way(&way, (spot.zone, spot.path), pattern);
        }
    }

    /// Guards what lies on a way, as far as it is in a zone: but for the place
    /// that it starts from, and what that is in.
    fn declare_way(&mut self, way: &[PathBuf], from: (usize, &RelPath), pattern: &str) {
        for path in way {
            for zone in 0..self.zones.len() {
                let Some(below) = RelPath::below(&self.zones[zone].host, path) else { continue };
                if zone == from.0 && from.1.starts_with(&below) {
                    continue;
                }
                self.must_sweep |= self.rules.declare_at(zone, below, pattern);
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
            let ticket = self.held.catch(zone, path, "");
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
