//! What becomes of files that a command leaves in a writable directory.
//!
//! The file tools refuse all of `.git`. Commands cannot be held to that, because
//! ordinary git has to work: `git init`, `commit`, `worktree add`, `submodule
//! add`. So for commands the trees of version control are split into the files
//! that can make somebody run a program later, and the rest. Some of the former
//! are written by honest git too; whether those are harmless depends on what is
//! in them, and [`is_harmless`] looks at that.
//!
//! A project's own entry for a file in such a tree wins: `.git/config: allow`
//! frees the file, `.git/config: deny` guards it whatever is in it.

mod allowed;
mod attributes;
mod config_text;
mod content;
mod git_dir;

pub use content::{hooks_dirs, is_harmless};
pub use git_dir::bare_repository;

use crate::guard::{Guard, Guards, PROGRAM, Reach, covers};
use crate::path::RelPath;

/// What becomes of an entry that a command made, changed or left at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planted<'g> {
    /// It stays.
    Free,
    /// It is guarded, by this pattern.
    Guarded(&'g str),
    /// It depends on what is in the file: see [`is_harmless`]. What is no plain
    /// file is not harmless.
    Depends(Content),
}

/// A kind of file that can be harmless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Content {
    /// The configuration of a git repository.
    GitConfig,
    /// `.gitmodules`.
    GitModules,
    /// `.gitattributes`, or `info/attributes` of a repository.
    GitAttributes,
    /// A file `.git`, which says where the repository is.
    GitLink,
    /// A file `commondir`, which says where a worktree's repository is.
    CommonDir,
    /// What an unfinished rebase or cherry-pick goes on with.
    Unfinished,
}

/// A tree of version control, or a file that belongs to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Git,
    Hg,
    Jj,
    Attributes,
    Modules,
}

/// Parts with the pattern of the list that stands for each, and the line that
/// sends it. A part whose pattern is allowed is not looked at.
const PARTS: [(Part, &str, &str); 5] = [
    (Part::Git, ".git/**", "/git"),
    (Part::Hg, ".hg/**", "/hg"),
    (Part::Jj, ".jj/**", "/jj"),
    (Part::Attributes, ".gitattributes", "/gitattributes"),
    (Part::Modules, ".gitmodules", "/gitmodules"),
];

/// The directories of version control, whose entries a project can free one by one.
const TREES: [&str; 4] = [".git", ".hg", ".jj", ".svn"];

/// Before a pattern that is freed; no pattern starts with a slash.
const FREE: &str = "/free ";

/// What guards files against commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandGuards {
    /// Patterns that are guarded whatever is in the file.
    guarded: Vec<String>,
    /// Patterns in the trees of version control that the project frees.
    freed: Vec<String>,
    parts: Vec<Part>,
}

impl CommandGuards {
    /// Returns what guards files against commands where `guards` guard them
    /// against the file tools: every entry that asks or denies.
    pub fn of(guards: &Guards) -> Self {
        let mut of = CommandGuards { guarded: vec![], freed: vec![], parts: vec![] };
        for entry in guards.entries().iter().filter(|entry| !entry.is_declared()) {
            let (pattern, guard) = (entry.pattern.as_str(), entry.guard.value);
            let part = PARTS.iter().find(|(_, whole, _)| whole.eq_ignore_ascii_case(pattern));
            let outright = entry.guard.is_written() && guard == Guard::Deny;
            match (part, guard) {
                // Nothing in that tree names a program.
                _ if pattern.eq_ignore_ascii_case(".svn/**") && !entry.guard.is_written() => {}
                _ if entry.why == PROGRAM && !entry.guard.is_written() => {}
                // Somebody who denies such a file by name means it.
                (Some((Part::Attributes | Part::Modules, ..)), _) if outright => {
                    of.guarded.push(pattern.to_owned());
                }
                (Some((part, ..)), Guard::Ask | Guard::Deny) => of.parts.push(*part),
                (Some(_), Guard::Allow) => {}
                (None, Guard::Ask | Guard::Deny) => of.guarded.push(pattern.to_owned()),
                (None, Guard::Allow) if is_in_tree(pattern) => of.freed.push(pattern.to_owned()),
                (None, Guard::Allow) => {}
            }
        }
        of
    }

    /// Returns the guards as lines of text, to be sent somewhere else.
    pub fn lines(&self) -> Vec<String> {
        let parts = PARTS.iter().filter(|(part, ..)| self.parts.contains(part));
        let parts = parts.map(|(_, _, line)| (*line).to_owned());
        let freed = self.freed.iter().map(|pattern| format!("{FREE}{pattern}"));
        self.guarded.iter().cloned().chain(freed).chain(parts).collect()
    }

    /// Reads what [`lines`](Self::lines) wrote.
    pub fn from_lines(lines: &[String]) -> Self {
        let mut of = CommandGuards { guarded: vec![], freed: vec![], parts: vec![] };
        for line in lines {
            if let Some((part, ..)) = PARTS.iter().find(|(.., known)| known == line) {
                of.parts.push(*part);
            } else if let Some(pattern) = line.strip_prefix(FREE) {
                of.freed.push(pattern.to_owned());
            } else {
                of.guarded.push(line.clone());
            }
        }
        of
    }

    /// Returns what becomes of a file or directory at `path`, which is relative
    /// to the zone's root. For links there is [`find_link`](Self::find_link).
    ///
    /// Names are compared without regard to case. Each entry of a directory has
    /// to be looked up by itself: a free directory can hold guarded files.
    pub fn find(&self, path: &RelPath, is_dir: bool) -> Planted<'_> {
        let names = lowered(path);
        if let Some(pattern) = first_covering(&self.guarded, &names, Reach::File) {
            return Planted::Guarded(pattern);
        }
        if self.is_freed(&names) {
            return Planted::Free;
        }
        let last = names.last().map(Vec::as_slice).unwrap_or_default();
        let named = |part, name: &[u8]| !is_dir && last == name && self.parts.contains(&part);
        if named(Part::Attributes, b".gitattributes") {
            return Planted::Depends(Content::GitAttributes);
        }
        if named(Part::Modules, b".gitmodules") {
            return Planted::Depends(Content::GitModules);
        }
        let mut found = Planted::Free;
        for (i, name) in names.iter().enumerate() {
            let below = &names[i + 1..];
            let planted = match name.as_slice() {
                b".git" if self.parts.contains(&Part::Git) => {
                    git_dir::find(below, is_dir, git_dir::Kind::Main)
                }
                b".hg" if self.parts.contains(&Part::Hg) => hg(below),
                b".jj" if self.parts.contains(&Part::Jj) => jj(below, is_dir),
                _ => Planted::Free,
            };
            found = stricter(found, planted);
        }
        found
    }

    /// Returns what becomes of a symbolic link at `path`: it can stand for a
    /// whole directory, so it is guarded wherever that could hold a guarded file.
    pub fn find_link(&self, path: &RelPath) -> Planted<'_> {
        let names = lowered(path);
        if let Some(pattern) = first_covering(&self.guarded, &names, Reach::Tree) {
            return Planted::Guarded(pattern);
        }
        let in_tree = PARTS.iter().filter(|(part, ..)| self.parts.contains(part));
        let patterns = in_tree.map(|(_, pattern, _)| *pattern);
        let found = patterns.into_iter().find(|pattern| covers(pattern, &names, Reach::Tree));
        match found {
            Some(pattern) if !self.is_freed(&names) => Planted::Guarded(pattern),
            _ => Planted::Free,
        }
    }

    /// Returns what becomes of an entry in a repository without a work tree, for
    /// which [`bare_repository`] returned true; `below` is relative to it. What
    /// [`find`](Self::find) says about the whole path holds as well.
    pub fn find_in_bare(&self, below: &RelPath, is_dir: bool) -> Planted<'_> {
        match self.parts.contains(&Part::Git) {
            true => git_dir::find(&lowered(below), is_dir, git_dir::Kind::Bare),
            false => Planted::Free,
        }
    }

    fn is_freed(&self, names: &[Vec<u8>]) -> bool {
        first_covering(&self.freed, names, Reach::File).is_some()
    }
}

fn lowered(path: &RelPath) -> Vec<Vec<u8>> {
    path.names().map(<[u8]>::to_ascii_lowercase).collect()
}

fn first_covering<'g>(patterns: &'g [String], names: &[Vec<u8>], reach: Reach) -> Option<&'g str> {
    patterns.iter().map(String::as_str).find(|pattern| covers(pattern, names, reach))
}

/// Returns whether a pattern begins with a directory of version control.
fn is_in_tree(pattern: &str) -> bool {
    let first = pattern.split('/').next().unwrap_or_default();
    TREES.iter().any(|tree| tree.eq_ignore_ascii_case(first))
}

fn stricter<'g>(a: Planted<'g>, b: Planted<'g>) -> Planted<'g> {
    match (a, b) {
        (Planted::Guarded(_), _) => a,
        (_, Planted::Guarded(_)) | (Planted::Free, _) => b,
        _ => a,
    }
}

/// Files of Mercurial that name programs, or another directory that holds some.
fn hg(below: &[Vec<u8>]) -> Planted<'static> {
    match below.first().map(Vec::as_slice) {
        Some(b"hgrc") => Planted::Guarded(".hg/hgrc"),
        Some(b"hgrc-not-shared") => Planted::Guarded(".hg/hgrc-not-shared"),
        Some(b"sharedpath") => Planted::Guarded(".hg/sharedpath"),
        _ => Planted::Free,
    }
}

/// Files of Jujutsu that name programs; `repo` as a file is a way to another
/// directory that holds some.
fn jj(below: &[Vec<u8>], is_dir: bool) -> Planted<'static> {
    let names: Vec<&[u8]> = below.iter().map(Vec::as_slice).collect();
    match names.as_slice() {
        [b"repo"] if !is_dir => Planted::Guarded(".jj/repo"),
        [b"repo", b"config.toml", ..] => Planted::Guarded(".jj/repo/config.toml"),
        [b"repo", b"workspace-config.toml", ..] => {
            Planted::Guarded(".jj/repo/workspace-config.toml")
        }
        [b"workspace-config.toml", ..] => Planted::Guarded(".jj/workspace-config.toml"),
        _ => Planted::Free,
    }
}

#[cfg(test)]
mod tests;
