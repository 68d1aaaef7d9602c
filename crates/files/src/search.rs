//! Searching the text of files.

use std::collections::BTreeMap;
use std::io;

use globset::GlobSet;
use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use zonekeep_policy::Place;

use crate::fault::{Fault, PatternFault};
use crate::list::{Depth, fits, glob_set, open_dir};
use crate::root::{Dir, File, Kind, Store};
use crate::text::{Encoding, HEAD, decode_1252};
use crate::walk::{Visit, Walk};

/// Files up to this size are read at once.
const SMALL: u64 = 1024 * 1024;
/// The longest line that is searched in a larger file.
const MAX_LINE: usize = 16 * 1024 * 1024;

/// The most lines that are shown around a match.
const MAX_CONTEXT: usize = 100;
/// How large a compiled pattern may be, and what it may keep while it runs.
const PROGRAM_SIZE: usize = 10 * 1024 * 1024;
const CACHE_SIZE: usize = 32 * 1024 * 1024;

/// What to look for, and where.
#[derive(Debug, Clone)]
pub struct Query<'a> {
    /// A regular expression, matched within lines.
    pub pattern: &'a str,
    /// Whether capital and small letters are the same.
    pub ignore_case: bool,
    /// Whether the pattern is plain text.
    pub literal: bool,
    /// Which files; without a slash it is matched against names at any depth.
    pub glob: Option<&'a str>,
    /// Whether what git would leave out is left out.
    pub gitignore: bool,
    /// How many lines to show before and after each match, at most 100.
    pub context: usize,
    /// The most matching lines to return.
    pub limit: usize,
    /// The most characters of a line to return.
    pub max_line_chars: usize,
    /// How many threads; 0 for as many as are useful.
    pub threads: usize,
}

impl Default for Query<'_> {
    fn default() -> Self {
        Query {
            pattern: "",
            ignore_case: false,
            literal: false,
            glob: None,
            gitignore: false,
            context: 0,
            limit: 200,
            max_line_chars: 500,
            threads: 0,
        }
    }
}

/// One line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The number, counted from 1.
    pub number: u64,
    /// The text, without its end; a part of it, around the match, if it is long.
    pub text: String,
    /// Whether it matches, as opposed to standing near one that does.
    pub is_match: bool,
}

/// The matches in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMatches {
    /// The path, relative to where the search started.
    pub path: Vec<u8>,
    /// The lines, in order.
    pub lines: Vec<Line>,
}

/// What a search came to. The same tree gives the same answer, however many
/// threads look.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// The first matches, by path and line.
    pub matches: Vec<FileMatches>,
    /// How many lines match.
    pub total_matches: u64,
    /// How many files have one.
    pub files_with_matches: u64,
    /// How many files were searched.
    pub files_searched: u64,
    /// How many were left out because they, or a line of theirs, are too large.
    pub skipped_large: u64,
    /// How many were left out because they are not text.
    pub skipped_binary: u64,
    /// How many files and directories could not be read.
    pub unreadable: u64,
    /// Whether there are more matches than were returned.
    pub truncated: bool,
}

/// Searches a file, or all files below a directory.
pub fn search(store: &dyn Store, place: &Place, query: &Query<'_>) -> Result<Found, Fault> {
    let glob = query.glob.map(|glob| glob_set(glob, Depth::Any)).transpose()?;
    let matcher = matcher(query)?;
    let searcher = || Visitor {
        place,
        query,
        glob: glob.as_ref(),
        matcher: matcher.clone(),
        searcher: build_searcher(query, &matcher),
        buffer: Vec::new(),
        kept: Kept { limit: query.limit, ..Kept::default() },
        found: Found::default(),
    };
    match open_dir(store, place) {
        Ok(dir) => {
            store.check()?;
            let walk = Walk {
                store,
                gitignore: query.gitignore,
                threads: query.threads,
                max_depth: usize::MAX,
            };
            let walked = walk.run(dir, searcher)?;
            Ok(merge(walked.visitors, walked.unreadable, query))
        }
        Err(Fault::NotADirectory) => {
            let (parent, name) = place.path().split_last().ok_or(Fault::NotADirectory)?;
            let dir = store.open_dir(&parent)?;
            if !place.suffix_allowed(name) {
                let allowed = place.suffixes().unwrap_or_default().to_vec();
                return Err(Fault::Suffix { allowed });
            }
            // Here a file that cannot be searched is the answer, not one of many.
            let size = dir.open_file(name)?.meta().size;
            crate::target::within(place, size)?;
            let mut visitor = searcher();
            visitor.visit(&*dir, name, name);
            Ok(merge(vec![visitor], 0, query))
        }
        Err(fault) => Err(fault),
    }
}

fn matcher(query: &Query<'_>) -> Result<RegexMatcher, Fault> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(query.ignore_case)
        .fixed_strings(query.literal)
        .multi_line(true)
        .line_terminator(Some(b'\n'))
        .size_limit(PROGRAM_SIZE)
        .dfa_size_limit(CACHE_SIZE);
    // Only `$` can tell a line that ends in CRLF from one that ends in LF.
    if !query.literal && query.pattern.contains('$') {
        builder.crlf(true);
    }
    let bad = |error| Fault::BadPattern(PatternFault::Regex(error));
    if query.pattern.is_empty() {
        return Err(Fault::BadPattern(PatternFault::Empty));
    }
    builder.build(query.pattern).map_err(bad)
}

fn build_searcher(query: &Query<'_>, matcher: &RegexMatcher) -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .line_terminator(matcher.line_terminator().unwrap_or(LineTerminator::byte(b'\n')))
        .before_context(query.context.min(MAX_CONTEXT))
        .after_context(query.context.min(MAX_CONTEXT))
        .heap_limit(Some(MAX_LINE))
        .binary_detection(BinaryDetection::quit(0))
        .build()
}

struct Visitor<'a> {
    place: &'a Place,
    query: &'a Query<'a>,
    glob: Option<&'a GlobSet>,
    matcher: RegexMatcher,
    searcher: Searcher,
    buffer: Vec<u8>,
    kept: Kept,
    found: Found,
}

impl Visit for Visitor<'_> {
    fn see(&mut self, path: &[u8], name: &[u8], kind: Kind) -> bool {
        kind == Kind::File
            && self.place.suffix_allowed(name)
            && self.glob.is_none_or(|glob| fits(glob, path))
    }

    fn visit(&mut self, dir: &dyn Dir, path: &[u8], name: &[u8]) {
        let file = match dir.open_file(name) {
            Ok(file) => file,
            // Removed, or replaced by something else, since it was listed.
            Err(
                Fault::NotFound { .. } | Fault::Link { .. } | Fault::Special | Fault::IsDirectory,
            ) => {
                return;
            }
            Err(_) => {
                self.found.unreadable += 1;
                return;
            }
        };
        if self.place.max_file_bytes().is_some_and(|limit| file.meta().size > limit) {
            self.found.skipped_large += 1;
            return;
        }
        match self.search_file(&*file, path) {
            Outcome::Searched => self.found.files_searched += 1,
            Outcome::Binary => self.found.skipped_binary += 1,
            Outcome::LongLine => self.found.skipped_large += 1,
            Outcome::Unreadable => self.found.unreadable += 1,
        }
    }
}

enum Outcome {
    Searched,
    Binary,
    LongLine,
    Unreadable,
}

impl Visitor<'_> {
    fn search_file(&mut self, file: &dyn File, path: &[u8]) -> Outcome {
        let small = file.meta().size <= SMALL;
        let length = if small { file.meta().size as usize + 1 } else { HEAD };
        if self.buffer.len() < length {
            self.buffer.resize(length, 0);
        }
        let mut read = 0;
        while read < length {
            match file.read_at(&mut self.buffer[read..length], read as u64) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(_) => return Outcome::Unreadable,
            }
            if read as u64 >= file.meta().size {
                break;
            }
        }
        let head = &self.buffer[..read.min(HEAD)];
        let utf16 =
            matches!(Encoding::by_mark(head), Some((Encoding::Utf16Le | Encoding::Utf16Be, _)));
        if !utf16 && memchr::memchr(0, head).is_some() {
            return Outcome::Binary;
        }
        let mut lines = Lines {
            matcher: &self.matcher,
            limit: if self.kept.has_room_for(path) { self.query.limit } else { 0 },
            max_chars: self.query.max_line_chars,
            lines: Vec::new(),
            matches: 0,
            binary: false,
        };
        let outcome = if small && read < length {
            self.searcher.search_slice(&self.matcher, &self.buffer[..read], &mut lines)
        } else {
            let reader = Reader { file, position: 0 };
            self.searcher.search_reader(&self.matcher, reader, &mut lines)
        };
        match outcome {
            // Raised by the line that does not fit the buffer.
            Err(error) if error.raw_os_error().is_none() => return Outcome::LongLine,
            Err(_) => return Outcome::Unreadable,
            Ok(()) if lines.binary => return Outcome::Binary,
            Ok(()) => {}
        }
        if lines.matches > 0 {
            self.found.files_with_matches += 1;
            self.found.total_matches += lines.matches;
            self.kept.add(path, lines.lines);
        }
        Outcome::Searched
    }
}

/// Collects the lines of one file.
struct Lines<'a> {
    matcher: &'a RegexMatcher,
    limit: usize,
    max_chars: usize,
    lines: Vec<Line>,
    matches: u64,
    binary: bool,
}

impl Lines<'_> {
    fn has_room(&self) -> bool {
        self.matches <= self.limit as u64
    }

    fn push(&mut self, number: Option<u64>, bytes: &[u8], is_match: bool) {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let found = match is_match && bytes.len() > self.max_chars {
            true => self.matcher.find(bytes).ok().flatten().map_or(0, |found| found.start()),
            false => 0,
        };
        let text = shorten(bytes, found, self.max_chars);
        self.lines.push(Line { number: number.unwrap_or(0), text, is_match });
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.matches += 1;
        if self.has_room() {
            self.push(found.line_number(), found.bytes(), true);
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, io::Error> {
        if self.limit > 0 && self.has_room() {
            self.push(found.line_number(), found.bytes(), false);
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.binary = true;
        Ok(false)
    }
}

/// Returns at most `max_chars` of a line, with the byte at `found` among them.
fn shorten(bytes: &[u8], found: usize, max_chars: usize) -> String {
    let decode = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => decode_1252(bytes),
    };
    let text = decode(bytes);
    if text.len() <= max_chars || text.chars().count() <= max_chars {
        return text;
    }
    // A third of the room goes to what stands before the match.
    let before = decode(&bytes[..found]).chars().count();
    let skipped = if before < max_chars { 0 } else { before - max_chars / 3 };
    let part: String = text.chars().skip(skipped).take(max_chars).collect();
    let start = if skipped > 0 { "…" } else { "" };
    let end = if text.chars().count() > skipped + max_chars { "…" } else { "" };
    format!("{start}{part}{end}")
}

/// The files with matches that come first, as many as the limit needs.
#[derive(Debug, Default)]
struct Kept {
    limit: usize,
    files: BTreeMap<Vec<u8>, Vec<Line>>,
    matches: usize,
}

impl Kept {
    /// Returns whether matches in that file could be among the first.
    fn has_room_for(&self, path: &[u8]) -> bool {
        self.matches < self.limit
            || self.files.last_key_value().is_some_and(|(last, _)| path < last.as_slice())
    }

    fn add(&mut self, path: &[u8], lines: Vec<Line>) {
        if lines.is_empty() {
            return;
        }
        self.matches += count(&lines);
        self.files.insert(path.to_vec(), lines);
        while let Some(last) = self.files.last_entry()
            && self.matches - count(last.get()) >= self.limit
        {
            self.matches -= count(last.get());
            last.remove();
        }
    }
}

fn count(lines: &[Line]) -> usize {
    lines.iter().filter(|line| line.is_match).count()
}

fn merge(visitors: Vec<Visitor<'_>>, unreadable: u64, query: &Query<'_>) -> Found {
    let mut found = Found { unreadable, ..Found::default() };
    let mut kept = Kept { limit: query.limit, ..Kept::default() };
    for visitor in visitors {
        found.total_matches += visitor.found.total_matches;
        found.files_with_matches += visitor.found.files_with_matches;
        found.files_searched += visitor.found.files_searched;
        found.skipped_large += visitor.found.skipped_large;
        found.skipped_binary += visitor.found.skipped_binary;
        found.unreadable += visitor.found.unreadable;
        for (path, lines) in visitor.kept.files {
            kept.add(&path, lines);
        }
    }
    let mut left = query.limit;
    for (path, mut lines) in kept.files {
        cut(&mut lines, left, query.context);
        left -= count(&lines);
        found.matches.push(FileMatches { path, lines });
    }
    found.truncated = found.total_matches > (query.limit - left) as u64;
    found
}

/// Drops what comes after the `limit`th match and its context.
fn cut(lines: &mut Vec<Line>, limit: usize, context: usize) {
    let next = lines.iter().enumerate().filter(|(_, line)| line.is_match).nth(limit);
    let Some((next, _)) = next else { return };
    let last = lines[..next].iter().rposition(|line| line.is_match);
    let end = match last {
        None => 0,
        Some(last) => {
            let reach = lines[last].number + context as u64;
            last + lines[last..next].iter().take_while(|line| line.number <= reach).count()
        }
    };
    lines.truncate(end);
}

/// Reads an open file from front to back.
struct Reader<'a> {
    file: &'a dyn File,
    position: u64,
}

impl io::Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.position).map_err(|fault| match fault {
            Fault::Io { source } | Fault::Unreadable { source } => source,
            _ => io::Error::from_raw_os_error(5),
        })?;
        self.position += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(numbers: &[(u64, bool)]) -> Vec<Line> {
        let line = |&(number, is_match)| Line { number, text: String::new(), is_match };
        numbers.iter().map(line).collect()
    }

    #[test]
    fn a_cut_keeps_the_context_of_the_last_match() {
        let all = [(1, true), (2, false), (5, false), (6, true), (7, false)];
        let cases = [(0, vec![]), (1, lines(&all[..2])), (2, lines(&all)), (9, lines(&all))];
        for (limit, want) in cases {
            let mut got = lines(&all);
            cut(&mut got, limit, 1);
            assert_eq!(got, want, "limit {limit}");
        }
    }

    #[test]
    fn the_files_that_come_first_are_kept() {
        let mut kept = Kept { limit: 3, ..Kept::default() };
        let two = || lines(&[(1, true), (2, true)]);
        kept.add(b"m", two());
        kept.add(b"z", two());
        assert!(!kept.has_room_for(b"zz"));
        assert!(kept.has_room_for(b"a"));
        kept.add(b"a", two());
        let paths: Vec<&[u8]> = kept.files.keys().map(Vec::as_slice).collect();
        assert_eq!(paths, [b"a", b"m"]);
    }

    #[test]
    fn a_long_line_is_cut_around_the_match() {
        assert_eq!(shorten(b"short", 0, 10), "short");
        assert_eq!(shorten(b"0123456789abcdef", 0, 10), "0123456789…");
        assert_eq!(shorten(b"0123456789abcdefghijklmnop", 20, 9), "…hijklmnop");
        assert_eq!(shorten("ééééé".as_bytes(), 0, 3), "ééé…");
    }
}
