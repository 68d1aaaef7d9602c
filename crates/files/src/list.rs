//! Listing: the names in a directory, and the paths below it that fit a pattern.

use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};
use zonekeep_policy::Place;
use zonekeep_policy::path::{MAX_PATH, escape};

use crate::fault::{Fault, PatternFault};
use crate::nearest::with_similar;
use crate::root::{Dir, Kind, Store};
use crate::walk::{Visit, Walk};

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The name as it is on disk.
    pub name: Vec<u8>,
    /// What it is.
    pub kind: Kind,
}

impl Entry {
    /// Returns the name as it is shown, with `\xNN` for what cannot be.
    pub fn shown(&self) -> String {
        escape(&self.name)
    }
}

/// The names in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The first names, sorted.
    pub entries: Vec<Entry>,
    /// How many there are.
    pub total: u64,
    /// Whether some are missing.
    pub truncated: bool,
}

/// How to look for paths.
#[derive(Debug, Clone)]
pub struct GlobOptions {
    /// Whether what git would leave out is left out.
    pub gitignore: bool,
    /// The most paths to return.
    pub limit: usize,
    /// How many threads; 0 for as many as are useful.
    pub threads: usize,
}

impl Default for GlobOptions {
    fn default() -> Self {
        GlobOptions { gitignore: false, limit: 1_000, threads: 0 }
    }
}

/// The paths that fit a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Globbed {
    /// The first paths, sorted, relative to where the search started.
    pub paths: Vec<Vec<u8>>,
    /// How many there are.
    pub total: u64,
    /// Whether some are missing.
    pub truncated: bool,
    /// How many directories could not be read.
    pub unreadable: u64,
}

/// Opens a directory to list it.
pub(crate) fn open_dir(store: &dyn Store, place: &Place) -> Result<Box<dyn Dir>, Fault> {
    store.open_dir(place.path()).map_err(|fault| with_similar(store, place.path(), fault))
}

/// Lists the names in a directory, at most `limit` of them.
pub fn names(store: &dyn Store, place: &Place, limit: usize) -> Result<Listing, Fault> {
    let dir = open_dir(store, place)?;
    let mut first = Smallest::new(limit);
    let mut failed = store.check();
    if failed.is_ok() {
        failed = dir.entries(&mut |name, kind| {
            let is_less = |entry: &Entry| name < entry.name.as_slice();
            first.add(is_less, || Entry { name: name.to_vec(), kind });
            ControlFlow::Continue(())
        });
    }
    failed?;
    let total = first.total;
    let entries = first.into_sorted();
    Ok(Listing { truncated: total > entries.len() as u64, entries, total })
}

/// Finds the files below a directory whose paths fit `pattern`, or with a slash
/// at its end the directories. Links are neither followed nor shown.
///
/// `*` and `?` stay within a name, `**` crosses directories, `{a,b}` is either.
pub fn glob(
    store: &dyn Store,
    place: &Place,
    pattern: &str,
    options: &GlobOptions,
) -> Result<Globbed, Fault> {
    let pattern = Pattern::new(pattern)?;
    let mut dir = open_dir(store, place)?;
    store.check()?;
    let mut prefix = Vec::new();
    for name in &pattern.prefix {
        dir = match dir.open_dir(name.as_bytes()) {
            Ok(next) => next,
            Err(Fault::NotFound { .. } | Fault::NotADirectory | Fault::Link { .. }) => {
                return Ok(Globbed { paths: vec![], total: 0, truncated: false, unreadable: 0 });
            }
            Err(fault) => return Err(fault),
        };
        prefix.extend_from_slice(name.as_bytes());
        prefix.push(b'/');
    }
    let walk = Walk {
        store,
        gitignore: options.gitignore,
        threads: options.threads,
        max_depth: pattern.max_depth,
    };
    let walked = walk.run(dir, || Collector {
        pattern: &pattern,
        path: prefix.clone(),
        prefix: prefix.len(),
        first: Smallest::new(options.limit),
    })?;
    let total = walked.visitors.iter().map(|visitor| visitor.first.total).sum();
    let mut paths: Vec<Vec<u8>> = Vec::new();
    for visitor in walked.visitors {
        paths.append(&mut visitor.first.into_vec());
    }
    paths.sort_unstable();
    paths.truncate(options.limit);
    let truncated = total > paths.len() as u64;
    Ok(Globbed { paths, total, truncated, unreadable: walked.unreadable })
}

/// Finds what lies below a directory, at most `depth` levels down. Where there is more than
/// [`GlobOptions::limit`], the upper levels come first. Links are neither followed nor shown.
pub fn tree(
    store: &dyn Store,
    place: &Place,
    depth: usize,
    options: &GlobOptions,
) -> Result<Tree, Fault> {
    let dir = open_dir(store, place)?;
    store.check()?;
    let walk = Walk {
        store,
        gitignore: options.gitignore,
        threads: options.threads,
        max_depth: depth.max(1),
    };
    let walked = walk.run(dir, || Levels(Smallest::new(options.limit)))?;
    let total = walked.visitors.iter().map(|visitor| visitor.0.total).sum();
    let mut kept: Vec<Branch> = Vec::new();
    for visitor in walked.visitors {
        kept.append(&mut visitor.0.into_vec());
    }
    kept.sort_unstable();
    kept.truncate(options.limit);
    Ok(Tree { entries: kept, total, unreadable: walked.unreadable })
}

/// What lies below a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// The first entries, the upper levels first.
    pub entries: Vec<Branch>,
    /// How many there are down to the depth that was asked for.
    pub total: u64,
    /// How many directories could not be read.
    pub unreadable: u64,
}

/// One entry of a [`Tree`], ordered by its level and then by its path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Branch {
    /// How many directories lead to it.
    pub level: usize,
    /// Its path, relative to where the walk started.
    pub path: Vec<u8>,
    /// What it is.
    pub kind: Kind,
}

/// Collects everything that it sees.
struct Levels(Smallest<Branch>);

impl Visit for Levels {
    fn see(&mut self, path: &[u8], _name: &[u8], kind: Kind) -> bool {
        let level = path.iter().filter(|&&byte| byte == b'/').count();
        let is_less = |most: &Branch| (level, path) < (most.level, most.path.as_slice());
        self.0.add(is_less, || Branch { level, path: path.to_vec(), kind });
        false
    }

    fn visit(&mut self, _dir: &dyn Dir, _path: &[u8], _name: &[u8]) {}
}

/// A pattern, taken apart for walking.
#[derive(Debug)]
struct Pattern {
    /// Directories that it names outright.
    prefix: Vec<String>,
    /// `None` where everything fits.
    set: Option<GlobSet>,
    kind: Kind,
    max_depth: usize,
}

impl Pattern {
    fn new(pattern: &str) -> Result<Self, Fault> {
        let whole = pattern;
        let (pattern, kind) = match pattern.strip_suffix('/') {
            Some(pattern) => (pattern.trim_end_matches('/'), Kind::Dir),
            None => (pattern, Kind::File),
        };
        let parts: Vec<&str> =
            pattern.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let plain = |part: &&&str| !part.contains(['*', '?', '[', ']', '{', '}', ',', '\\']);
        let before_last = parts.len().saturating_sub(1);
        let prefix: Vec<String> =
            parts.iter().take(before_last).take_while(plain).map(|&part| part.to_owned()).collect();
        let crosses = pattern.contains("**") || pattern.contains('{');
        Ok(Pattern {
            set: match pattern {
                "**" | "**/*" | "**/**" => None,
                _ => Some(glob_set(whole, Depth::Exact)?),
            },
            max_depth: if crosses { usize::MAX } else { parts.len() - prefix.len() },
            prefix,
            kind,
        })
    }
}

/// Where a pattern without a slash matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Only at the top.
    Exact,
    /// At any depth.
    Any,
}

/// Reads a pattern.
pub(crate) fn glob_set(pattern: &str, depth: Depth) -> Result<GlobSet, Fault> {
    if pattern.len() > MAX_PATH {
        return Err(Fault::BadPattern(PatternFault::TooLong));
    }
    if pattern.starts_with('/') {
        return Err(Fault::BadPattern(PatternFault::Absolute));
    }
    if pattern.split(['/', '{', '}', ',']).any(|part| part == "..") {
        return Err(Fault::BadPattern(PatternFault::Parent));
    }
    let parts: Vec<&str> = pattern.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.is_empty() {
        return Err(Fault::BadPattern(PatternFault::Empty));
    }
    let mut plain = parts.join("/");
    if depth == Depth::Any && parts.len() == 1 {
        plain.insert_str(0, "**/");
    }
    let bad = |error| Fault::BadPattern(PatternFault::Glob(error));
    let glob = GlobBuilder::new(&plain)
        .literal_separator(true)
        .backslash_escape(true)
        .empty_alternates(true)
        .build()
        .map_err(bad)?;
    GlobSetBuilder::new().add(glob).build().map_err(bad)
}

/// Returns whether a path fits.
pub(crate) fn fits(set: &GlobSet, path: &[u8]) -> bool {
    set.is_match_candidate(&Candidate::from_bytes(path))
}

/// Collects the paths that fit.
struct Collector<'a> {
    pattern: &'a Pattern,
    /// The named directories, and room for the rest of a path.
    path: Vec<u8>,
    prefix: usize,
    first: Smallest<Vec<u8>>,
}

impl Visit for Collector<'_> {
    fn see(&mut self, path: &[u8], _name: &[u8], kind: Kind) -> bool {
        if kind != self.pattern.kind {
            return false;
        }
        let path = match self.prefix {
            0 => path,
            prefix => {
                self.path.truncate(prefix);
                self.path.extend_from_slice(path);
                &self.path
            }
        };
        if self.pattern.set.as_ref().is_none_or(|set| fits(set, path)) {
            self.first.add(|most| path < most.as_slice(), || path.to_vec());
        }
        false
    }

    fn visit(&mut self, _dir: &dyn Dir, _path: &[u8], _name: &[u8]) {}
}

/// Counts what it is given and keeps the `limit` smallest.
#[derive(Debug)]
struct Smallest<T> {
    limit: usize,
    total: u64,
    kept: Vec<T>,
    /// In use once the limit is reached.
    heap: BinaryHeap<T>,
}

impl<T: Ord> Smallest<T> {
    fn new(limit: usize) -> Self {
        Smallest { limit, total: 0, kept: Vec::new(), heap: BinaryHeap::new() }
    }

    /// Adds what `make` returns if there is room, or if it is less than the
    /// largest that is kept.
    fn add(&mut self, is_less: impl FnOnce(&T) -> bool, make: impl FnOnce() -> T) {
        self.total += 1;
        if self.heap.is_empty() {
            if self.kept.len() < self.limit {
                self.kept.push(make());
                return;
            }
            self.heap = std::mem::take(&mut self.kept).into();
        }
        if let Some(mut most) = self.heap.peek_mut()
            && is_less(&most)
        {
            *most = make();
        }
    }

    fn into_vec(self) -> Vec<T> {
        if self.heap.is_empty() { self.kept } else { self.heap.into_vec() }
    }

    fn into_sorted(self) -> Vec<T> {
        let mut all = self.into_vec();
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn patterns_that_lead_elsewhere_are_refused() {
        for bad in ["/etc/*", "../x", "a/../b", "{..,a}/b", "..", "a/..", "", "/", "a[", "{a"] {
            let fault = Pattern::new(bad).unwrap_err();
            assert_eq!(fault.code(), "bad_pattern", "{bad}");
            assert!(fault.to_string().lines().next().unwrap().ends_with('.'), "{fault}");
        }
    }

    #[test]
    fn a_pattern_says_where_to_look_and_how_deep() {
        let cases: [(&str, &[&str], usize, Kind); 7] = [
            ("*.rs", &[], 1, Kind::File),
            ("src/*.rs", &["src"], 1, Kind::File),
            ("./src//a/b.rs", &["src", "a"], 1, Kind::File),
            ("src/*/b.rs", &["src"], 2, Kind::File),
            ("src/**/*.rs", &["src"], usize::MAX, Kind::File),
            ("{a/b,c}/*.rs", &[], usize::MAX, Kind::File),
            ("src/*/", &["src"], 1, Kind::Dir),
        ];
        for (text, prefix, max_depth, kind) in cases {
            let pattern = Pattern::new(text).unwrap();
            assert_eq!(pattern.prefix, prefix, "{text}");
            assert_eq!((pattern.max_depth, pattern.kind), (max_depth, kind), "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_smallest_are_kept(numbers in prop::collection::vec(0u32..50, 0..60), limit in 0usize..20) {
            let mut smallest = Smallest::new(limit);
            for &number in &numbers {
                smallest.add(|&most| number < most, || number);
            }
            prop_assert_eq!(smallest.total, numbers.len() as u64);
            let mut want = numbers;
            want.sort_unstable();
            want.truncate(limit);
            prop_assert_eq!(smallest.into_sorted(), want);
        }
    }
}
