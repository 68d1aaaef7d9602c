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
mod change;
mod config_text;
mod content;
mod git_dir;

pub use change::{Change, Committed, Outcome, Side};
pub use content::{hooks_dirs, is_harmless};
pub use git_dir::bare_repository;

use serde::{Deserialize, Serialize};

use crate::guard::{
    Guard, Guards, PASSWORDS, PROGRAM, Reach, covers, first_match, generated_from,
    is_in_repository, is_read_below, matches,
};
use crate::path::RelPath;

/// What becomes of an entry that a command made, changed or left at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planted<'g> {
    /// It stays.
    Free,
    /// It is removed at once, or put back: this file of a repository, or one that a
    /// configuration names, makes programs run.
    Guarded(&'g str),
    /// A pattern of the list covers it.
    Listed(Listed<'g>),
    /// It depends on what is in the file: see [`is_harmless`]. What is no plain
    /// file is not harmless.
    Depends(Content),
}

/// How strictly commands are held to a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The change stays, and is named in the summary.
    Report,
    /// The change waits in the quarantine for an approval.
    Ask,
    /// The change is undone.
    Block,
}

/// Whose command changes files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// The user's own: `zonekeep run`.
    User,
    /// An agent's: its `shell` tool.
    Agent,
}

/// The pattern that covers an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed<'g> {
    /// The pattern.
    pub pattern: &'g str,
    /// How strict it is.
    pub level: Level,
    /// Whether a change is undone at once if the match begins at the top of a work tree or
    /// zone; other changes are judged when the command has ended.
    pub at_once: bool,
    /// How many names of the path come before the match.
    pub depth: usize,
    /// How many names come before the first match of any pattern, where the content of a
    /// clone may stay: if the clone's work tree begins there or above.
    pub clone_depth: Option<usize>,
}

/// A pattern of the list, for commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Pattern {
    text: String,
    level: Level,
    at_once: bool,
    /// Whether it applies below directories of dependencies and build results.
    everywhere: bool,
    /// Whether the project can exempt a directory from it.
    exemptible: bool,
    /// Whether content of the user's commits is accepted below the top of a zone: a work tree or
    /// a clone has a project file that is in force nowhere.
    committed_below: bool,
}

impl Pattern {
    fn level_at(&self, depth: usize) -> Level {
        match self.committed_below && depth > 0 {
            true => self.level.min(Level::Ask),
            false => self.level,
        }
    }
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Part {
    Git,
    Hg,
    Jj,
    Attributes,
    Modules,
}

/// Parts with the pattern of the list that stands for each. A part whose pattern is
/// allowed is not looked at.
const PARTS: [(Part, &str); 5] = [
    (Part::Git, ".git/**"),
    (Part::Hg, ".hg/**"),
    (Part::Jj, ".jj/**"),
    (Part::Attributes, ".gitattributes"),
    (Part::Modules, ".gitmodules"),
];

/// Names of version control that are looked at, where their part is.
const NAMES: [(Part, &str); 5] = [
    (Part::Git, ".git"),
    (Part::Hg, ".hg"),
    (Part::Jj, ".jj"),
    (Part::Attributes, ".gitattributes"),
    (Part::Modules, ".gitmodules"),
];

/// What guards files against commands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CommandGuards {
    patterns: Vec<Pattern>,
    /// Directories that the project exempts from the built-in patterns.
    exempt: Vec<String>,
    /// Patterns in the trees of version control that the project frees.
    freed: Vec<String>,
    parts: Vec<Part>,
    /// Files that the user has said yes to, for one command, as they are shown.
    approved: Vec<String>,
}

impl CommandGuards {
    /// Returns the guards without these files, which may be changed; those that are blocked
    /// stay guarded.
    #[must_use]
    pub fn approving(self, approved: &[RelPath]) -> Self {
        CommandGuards { approved: approved.iter().map(RelPath::to_string).collect(), ..self }
    }

    /// Returns what guards files against commands where `guards` guard them
    /// against the file tools: every entry that reports, asks or blocks.
    pub fn of(guards: &Guards, caller: Caller) -> Self {
        let exempt = guards.exemptions().map(str::to_owned).collect();
        let mut of = CommandGuards { exempt, ..CommandGuards::default() };
        for entry in guards.entries().iter().filter(|entry| !entry.is_declared()) {
            let (pattern, guard) = (entry.pattern.as_str(), entry.guard.value);
            let part = PARTS.iter().find(|(_, whole)| whole.eq_ignore_ascii_case(pattern));
            let outright = entry.guard.is_written() && guard == Guard::Block;
            let level = match (guard, caller) {
                (Guard::Allow, _) => None,
                (Guard::Report, Caller::User) => Some(Level::Report),
                (Guard::Report, Caller::Agent) | (Guard::Ask, _) => Some(Level::Ask),
                // A password that a commit of the user has is no secret, and git may write it.
                (Guard::Block, _) if entry.why == PASSWORDS && !entry.guard.is_written() => {
                    Some(Level::Ask)
                }
                (Guard::Block, _) => Some(Level::Block),
            };
            let listed = |level| Pattern {
                text: pattern.to_owned(),
                level,
                at_once: entry.is_loaded_unasked(),
                everywhere: entry.is_everywhere(),
                exemptible: entry.can_be_exempt(),
                committed_below: pattern == "zonekeep.yaml" && !entry.guard.is_written(),
            };
            match (part, level) {
                // Nothing in that tree names a program.
                _ if pattern.eq_ignore_ascii_case(".svn/**") && !entry.guard.is_written() => {}
                _ if entry.why == PROGRAM && !entry.guard.is_written() => {}
                // Somebody who blocks such a file by name means it.
                (Some((Part::Attributes | Part::Modules, _)), Some(level)) if outright => {
                    of.patterns.push(listed(level));
                }
                (Some((part, _)), Some(_)) => of.parts.push(*part),
                (Some(_), None) => {}
                (None, Some(level)) => of.patterns.push(listed(level)),
                (None, None) if is_in_repository(pattern) => of.freed.push(pattern.to_owned()),
                (None, None) => {}
            }
        }
        of
    }

    /// Returns whether a file in a directory, at any depth, is approved. The other files in it
    /// stay guarded one by one.
    pub fn approves_below(&self, dir: &RelPath) -> bool {
        let dir = format!("{dir}/");
        self.approved.iter().any(|path| path.starts_with(&dir))
    }

    /// Returns the guards without the patterns of the list, for the many files of
    /// repositories.
    #[must_use]
    pub fn of_repositories(&self) -> Self {
        CommandGuards { patterns: Vec::new(), ..self.clone() }
    }

    /// Returns the patterns of the list.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(|pattern| pattern.text.as_str())
    }

    /// Returns patterns of files that no command may change, for a backend that refuses by
    /// name and keeps nothing back.
    pub fn refused(&self) -> Vec<String> {
        let is_strict = |pattern: &&Pattern| pattern.level > Level::Report;
        let mut refused: Vec<String> =
            self.patterns.iter().filter(is_strict).map(|pattern| pattern.text.clone()).collect();
        if self.parts.contains(&Part::Git) {
            refused.push(".git/hooks/**".to_owned());
        }
        refused
    }

    /// Returns the names of version control that are looked at.
    pub fn repository_names(&self) -> impl Iterator<Item = &'static str> {
        let looks_at = |part| self.parts.contains(part);
        NAMES.iter().filter(move |(part, _)| looks_at(part)).map(|(_, name)| *name)
    }

    /// Returns the strictest pattern of the list that covers a path.
    fn listed(&self, names: &[Vec<u8>], reach: Reach) -> Option<Listed<'_>> {
        let generated = generated_from(names);
        let exempt = self.exempt.iter().filter_map(|tree| first_match(tree, names, Reach::File));
        let exempt = exempt.min();
        let find = |pattern: &'_ Pattern| {
            let counts = |start: &usize| {
                let is_generated = generated.is_some_and(|from| *start >= from);
                let is_exempt = exempt.is_some_and(|from| *start > from);
                (pattern.everywhere || !is_generated) && !(pattern.exemptible && is_exempt)
            };
            matches(&pattern.text, names, reach).find(counts)
        };
        let mut may_be_cloned = !is_read_below(names, reach);
        let mut outermost = names.len();
        let found = self.patterns.iter().filter_map(|pattern| {
            let Pattern { text, at_once, .. } = pattern;
            let depth = find(pattern)?;
            let level = pattern.level_at(depth);
            // The project's own patterns hold in clones too.
            may_be_cloned &= !pattern.everywhere && !pattern.committed_below;
            outermost = outermost.min(depth);
            let clone_depth = None;
            Some(Listed { pattern: text, level, at_once: *at_once, depth, clone_depth })
        });
        let strictest = found
            .max_by_key(|listed| (listed.level, listed.at_once, std::cmp::Reverse(listed.depth)))?;
        Some(Listed { clone_depth: may_be_cloned.then_some(outermost), ..strictest })
    }

    /// Returns what becomes of a file or directory at `path`, which is relative
    /// to the zone's root. For links there is [`find_link`](Self::find_link).
    ///
    /// Names are compared without regard to case. Each entry of a directory has
    /// to be looked up by itself: a free directory can hold guarded files.
    pub fn find(&self, path: &RelPath, is_dir: bool) -> Planted<'_> {
        let names = lowered(path);
        let is_approved = |listed: &Listed<'_>| {
            let is_such = match is_dir {
                true => self.approves_below(path),
                false => self.approved.contains(&path.to_string()),
            };
            listed.level < Level::Block && is_such
        };
        match self.listed(&names, Reach::File) {
            Some(listed) if is_approved(&listed) => return Planted::Free,
            Some(listed) => return Planted::Listed(listed),
            None => {}
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
        if let Some(listed) = self.listed(&names, Reach::Tree) {
            return Planted::Listed(listed);
        }
        let in_tree = PARTS.iter().filter(|(part, _)| self.parts.contains(part));
        let patterns = in_tree.map(|(_, pattern)| *pattern);
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
        self.freed.iter().any(|pattern| covers(pattern, names, Reach::File))
    }
}

fn lowered(path: &RelPath) -> Vec<Vec<u8>> {
    path.names().map(<[u8]>::to_ascii_lowercase).collect()
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
