//! What listings and searches find.

use zonekeep_files::list::{Branch, GlobOptions};
use zonekeep_files::search::{Found, Line};
use zonekeep_files::{self as files, Fault, MemoryStore, Store};
use zonekeep_policy::path::escape;
use zonekeep_policy::{Place, RelPath};

/// The most bytes of matching lines that a search returns.
const MAX_MATCHED: usize = 400_000;

/// Names found in one directory of the view, or at its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The listed path.
    pub path: String,
    /// Names and whether each is a directory, sorted.
    pub entries: Vec<(String, files::Kind)>,
    /// How many there are in all.
    pub total: u64,
}

/// Paths found below a directory of the view.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Paths {
    /// Paths relative to the directory that was looked through, sorted.
    pub paths: Vec<String>,
    /// How many there are in all.
    pub total: u64,
    /// How many directories could not be read.
    pub unreadable: u64,
}

/// What lies below a directory of the view, some levels down.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Branches {
    /// Paths relative to the directory, each with its level and its kind: every directory is
    /// followed by what lies below it. At the root of the view, level 0 has the directories
    /// that exist there, wherever they are.
    pub entries: Vec<(String, usize, files::Kind)>,
    /// How many there are in all.
    pub total: u64,
    /// How many directories could not be read.
    pub unreadable: u64,
}

impl Branches {
    /// Returns the first `limit` entries, the upper levels first, as a tree.
    pub(super) fn of(mut found: Vec<Branch>, limit: usize, total: u64, unreadable: u64) -> Self {
        found.sort_unstable();
        found.truncate(limit);
        let parts = |path: &[u8]| path.split(|&byte| byte == b'/').map(<[u8]>::to_vec).collect();
        found.sort_by_cached_key(|branch| -> Vec<Vec<u8>> { parts(&branch.path) });
        let entries = found.into_iter();
        let entries =
            entries.map(|branch| (escape(&branch.path), branch.level, branch.kind)).collect();
        Branches { entries, total, unreadable }
    }
}

/// Lines found below a directory of the view.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matches {
    /// Path, relative to the directory that was searched, and lines; sorted.
    pub files: Vec<(String, Vec<Line>)>,
    /// How many lines match in all.
    pub total_matches: u64,
    /// How many files have one.
    pub files_with_matches: u64,
    /// How many files were searched.
    pub files_searched: u64,
    /// How many were passed over because they are larger than allowed.
    pub skipped_large: u64,
    /// How many were passed over because they are binary.
    pub skipped_binary: u64,
    /// How many files and directories could not be read.
    pub unreadable: u64,
}

impl Matches {
    pub(super) fn add(&mut self, found: Found, at_root: bool, name: &RelPath) {
        self.total_matches += found.total_matches;
        self.files_with_matches += found.files_with_matches;
        self.files_searched += found.files_searched;
        self.skipped_large += found.skipped_large;
        self.skipped_binary += found.skipped_binary;
        self.unreadable += found.unreadable;
        let files = found.matches.into_iter();
        self.files.extend(files.map(|file| (shown(at_root, name, &file.path), file.lines)));
    }

    /// Drops what is beyond the first `limit` matches, or more than fits.
    pub(super) fn keep(&mut self, limit: usize) {
        let mut left = limit;
        let mut room = MAX_MATCHED;
        for (_, lines) in &mut self.files {
            let fits = lines.iter().position(|line| {
                room = room.saturating_sub(line.text.len() + 8);
                room == 0
            });
            if let Some(end) = fits {
                lines.truncate(end);
            }
            let mut kept = 0;
            let end = lines.iter().position(|line| {
                kept += usize::from(line.is_match);
                kept > left
            });
            if let Some(end) = end {
                lines.truncate(end);
            }
            left -= lines.iter().filter(|line| line.is_match).count();
        }
        self.files.retain(|(_, lines)| lines.iter().any(|line| line.is_match));
    }
}

/// Writes a found path so that it is relative to where the search began.
pub(super) fn shown(at_root: bool, name: &RelPath, path: &[u8]) -> String {
    let path = escape(path);
    if at_root { format!("{name}/{path}") } else { path }
}

/// Returns the part of a pattern that is for the files of one directory of the view, when
/// the pattern is given for the root: the part after the directory's path, if that fits.
pub(super) fn below_root<'p>(
    at_root: bool,
    pattern: &'p str,
    top: &RelPath,
) -> Result<Option<&'p str>, Fault> {
    if !at_root {
        return Ok(Some(pattern));
    }
    // The root as a store of its own, to have names matched as everywhere.
    let (root, place) = (MemoryStore::new(), Place::unchecked(RelPath::root()));
    let mut above = RelPath::root();
    let mut start = 0;
    for name in top.names() {
        if pattern[start..].starts_with("**") {
            break;
        }
        let Some(length) = pattern[start..].find('/') else { return Ok(None) };
        start += length + 1;
        above = above.join(name);
    }
    if above.is_root() {
        return Ok(Some(pattern));
    }
    root.make_dirs(&above)?;
    let fits = files::list::glob(&root, &place, &pattern[..start], &GlobOptions::default())?;
    Ok((fits.total > 0).then_some(&pattern[start..]))
}
