//! Replacing text in a file.

use std::collections::HashMap;
use std::fmt;

use zonekeep_policy::Place;

use crate::fault::Fault;
use crate::fingerprint;
use crate::hash;
use crate::nearest::with_similar;
use crate::preview::unified;
use crate::read::{WHOLE, read_up_to};
use crate::root::{Overwrite, Source, Store};
use crate::target::{Parents, Target, within};
use crate::text::{Decoded, LineEndings, Looks, looks_like};

/// How often a file that changes under us is tried again.
const ATTEMPTS: usize = 8;
/// How many line numbers an ambiguity names.
const SHOWN_LINES: usize = 8;
/// How many pairs of lines are compared to find the nearest text.
const COMPARED_LINES: usize = 200_000;
/// How much of a line is compared.
const COMPARED_BYTES: usize = 200;
/// How much of the nearest text is shown.
const SHOWN_CHARS: usize = 600;

/// One replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The text that is there.
    pub old: String,
    /// The text to put in its place.
    pub new: String,
    /// Whether every occurrence is replaced; otherwise there must be only one.
    pub replace_all: bool,
}

/// Which edit of how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Which {
    /// The number, counted from 1.
    pub number: usize,
    /// How many there are.
    pub of: usize,
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of {
            1 => Ok(()),
            of => write!(f, " (edit {} of {of})", self.number),
        }
    }
}

/// The text in a file that comes nearest to what was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// The number of its first line.
    pub line: usize,
    /// The text, at most a few lines.
    pub text: String,
}

/// Why edits do not fit a text. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditFault {
    /// There are no edits.
    #[error("there is nothing to change.\nGive at least one edit")]
    Nothing,
    /// The text to look for is empty.
    #[error("the text to replace is empty{which}.\nTo write the whole file, write it")]
    Empty {
        /// Which edit.
        which: Which,
    },
    /// Both texts are the same.
    #[error("the new text is the same as the old{which}.")]
    Same {
        /// Which edit.
        which: Which,
    },
    /// The text is not there.
    #[error("the text to replace was not found{which}.{}", nearest_lines(.nearest))]
    NoMatch {
        /// Which edit.
        which: Which,
        /// What comes nearest.
        nearest: Option<Nearest>,
    },
    /// The text is there more than once.
    #[error(
        "the text to replace occurs {count} times{which}, at lines {}.\nGive more of the text around it, or replace all",
        numbers(.lines, *.count)
    )]
    Ambiguous {
        /// Which edit.
        which: Which,
        /// How often it is there.
        count: usize,
        /// The lines of the first few.
        lines: Vec<usize>,
    },
    /// The text would become larger than it may be.
    #[error("file too large ({size} bytes).\nMaximum allowed: {limit} bytes")]
    TooLarge {
        /// How large it would become.
        size: u64,
        /// How large it may be.
        limit: u64,
    },
}

/// What the edits come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The new text.
    pub text: String,
    /// How many places were replaced.
    pub replacements: usize,
}

/// What was changed in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The name of the content now.
    pub hash: String,
    /// The change as a unified diff, without file names.
    pub diff: String,
    /// How many places were replaced.
    pub replacements: usize,
    /// The size of the file now.
    pub bytes: u64,
}

/// Makes the edits one after the other, each in what the one before it left;
/// all of them, or none.
pub fn apply(text: &str, edits: &[Edit]) -> Result<Applied, EditFault> {
    apply_within(text, edits, WHOLE)
}

/// Makes the edits as [`apply`] does, and fails before anything larger than
/// `limit` bytes is built.
pub fn apply_within(text: &str, edits: &[Edit], limit: u64) -> Result<Applied, EditFault> {
    if edits.is_empty() {
        return Err(EditFault::Nothing);
    }
    let mut applied = Applied { text: text.to_owned(), replacements: 0 };
    for (index, edit) in edits.iter().enumerate() {
        let which = Which { number: index + 1, of: edits.len() };
        let count = count(&applied.text, edit, which)?;
        let grows = (edit.new.len() as u64).saturating_sub(edit.old.len() as u64);
        let size = (applied.text.len() as u64).saturating_add(grows.saturating_mul(count as u64));
        if size > limit {
            return Err(EditFault::TooLarge { size, limit });
        }
        applied.text = applied.text.replace(&edit.old, &edit.new);
        applied.replacements += count;
    }
    Ok(applied)
}

/// Counts the places to replace, and checks that the edit fits.
fn count(text: &str, edit: &Edit, which: Which) -> Result<usize, EditFault> {
    let Edit { old, new, replace_all } = edit;
    if old.is_empty() {
        return Err(EditFault::Empty { which });
    }
    if old == new {
        return Err(EditFault::Same { which });
    }
    let found: Vec<usize> = text.match_indices(old).map(|(at, _)| at).collect();
    match found.as_slice() {
        [] => Err(EditFault::NoMatch { which, nearest: nearest(text, old) }),
        found if *replace_all => Ok(found.len()),
        &[at] => {
            // `aa` is twice in `aaa`, and which one is meant is not clear.
            let step = text[at..].chars().next().map_or(1, char::len_utf8);
            match text[at + step..].find(old) {
                None => Ok(1),
                Some(again) => Err(ambiguous(text, &[at, at + step + again], which)),
            }
        }
        found => Err(ambiguous(text, found, which)),
    }
}

fn ambiguous(text: &str, found: &[usize], which: Which) -> EditFault {
    let line = |&at: &usize| 1 + memchr::memchr_iter(b'\n', &text.as_bytes()[..at]).count();
    let lines = found.iter().take(SHOWN_LINES).map(line).collect();
    EditFault::Ambiguous { which, count: found.len(), lines }
}

/// Makes the edits in a file.
///
/// Encoding, byte order mark and line endings stay. Where every line ends in
/// CRLF, the edits are compared and written as if with LF.
pub fn edit(
    store: &dyn Store,
    place: &Place,
    edits: &[Edit],
    expected_hash: Option<&str>,
) -> Result<Edited, Fault> {
    let target = Target::open(store, place, Parents::Needed)
        .map_err(|fault| with_similar(store, place.path(), fault))?;
    let dir = target.dir();
    let limit = place.max_file_bytes().map_or(WHOLE, |limit| limit.min(WHOLE));
    let _lock = dir.lock()?;
    for _ in 0..ATTEMPTS {
        let file =
            dir.open_file(target.name).map_err(|fault| with_similar(store, place.path(), fault))?;
        let bytes = read_up_to(&*file, limit)?;
        let shown = place.shown();
        if shown.is_some_and(|shown| shown != fingerprint::of_base(&bytes, file.meta())) {
            return Err(Fault::Changed { what: "the file" });
        }
        if let Some(expected) = expected_hash {
            let current = hash::hash(&bytes);
            if current != expected {
                return Err(Fault::Stale { current: Some(current) });
            }
        }
        let decoded = decode(&bytes)?;
        // Text takes up to three times the room of an encoding with short letters.
        let room = limit.saturating_mul(3);
        let applied = match apply_within(&decoded.text, &normalised(edits, decoded.endings), room) {
            Err(EditFault::TooLarge { size, .. }) => return Err(Fault::TooLarge { size, limit }),
            other => other?,
        };
        let new = decoded.encode(&applied.text)?;
        within(place, new.len() as u64)?;
        // Whoever does not take the lock may have written in between.
        if dir.stat(target.name)?.version != file.meta().version {
            continue;
        }
        dir.replace(target.name, Source::Bytes(&new), Overwrite::Yes)?;
        return Ok(Edited {
            hash: hash::hash(&new),
            diff: unified(&decoded.text, &applied.text),
            replacements: applied.replacements,
            bytes: new.len() as u64,
        });
    }
    Err(Fault::Busy)
}

/// Returns the content that edits make of another one, of at most `limit` bytes.
pub(crate) fn result(bytes: &[u8], edits: &[Edit], limit: u64) -> Result<Vec<u8>, Fault> {
    let decoded = decode(bytes)?;
    let applied = apply_within(&decoded.text, &normalised(edits, decoded.endings), limit)?;
    decoded.encode(&applied.text)
}

fn decode(bytes: &[u8]) -> Result<Decoded, Fault> {
    let binary = |mime| Fault::Binary { mime, size: bytes.len() as u64 };
    match looks_like(bytes) {
        Looks::Text => Decoded::new(bytes).ok_or_else(|| binary("text/plain")),
        Looks::Binary(mime) | Looks::Image(mime) => Err(binary(mime)),
    }
}

fn normalised(edits: &[Edit], endings: LineEndings) -> Vec<Edit> {
    let fit = |text: &str| match endings {
        LineEndings::CrLf => text.replace("\r\n", "\n"),
        _ => text.to_owned(),
    };
    let fit = |edit: &Edit| Edit { old: fit(&edit.old), new: fit(&edit.new), ..edit.clone() };
    edits.iter().map(fit).collect()
}

/// Finds the lines most like `old`, by the pairs of characters they share.
fn nearest(text: &str, old: &str) -> Option<Nearest> {
    let wanted: Vec<Pairs> = old.lines().map(Pairs::of).collect();
    let lines: Vec<&str> = text.lines().collect();
    let windows = (lines.len() + 1).checked_sub(wanted.len()).filter(|&n| n > 0)?;
    if wanted.is_empty() || windows.checked_mul(wanted.len())? > COMPARED_LINES {
        return None;
    }
    // Each line is compared with each it may stand for, and counts for the
    // window it would then be in.
    let mut scores = vec![0.0; windows];
    for (at, line) in lines.iter().enumerate() {
        let pairs = Pairs::of(line);
        for (offset, want) in wanted.iter().enumerate() {
            if let Some(score) = at.checked_sub(offset).and_then(|window| scores.get_mut(window)) {
                *score += want.likeness(&pairs);
            }
        }
    }
    let (at, score) = scores
        .iter()
        .copied()
        .enumerate()
        .reduce(|best, next| if next.1 > best.1 { next } else { best })?;
    if score < 0.5 * wanted.len() as f64 {
        return None;
    }
    let mut text = lines[at..at + wanted.len()].join("\n");
    if let Some((end, _)) = text.char_indices().nth(SHOWN_CHARS) {
        text.truncate(end);
        text.push('…');
    }
    Some(Nearest { line: at + 1, text })
}

/// The pairs of neighbouring bytes in a line, with how often each occurs.
struct Pairs {
    counts: HashMap<[u8; 2], u32>,
    total: u32,
    blank: bool,
}

impl Pairs {
    fn of(line: &str) -> Self {
        // Differences in indentation are the usual reason for no match.
        let line = line.trim().as_bytes();
        let line = &line[..line.len().min(COMPARED_BYTES)];
        let mut counts = HashMap::new();
        let mut total = 0;
        for pair in line.windows(2) {
            *counts.entry([pair[0], pair[1]]).or_default() += 1;
            total += 1;
        }
        Pairs { counts, total, blank: line.is_empty() }
    }

    /// Returns 1 for the same pairs, 0 for none in common.
    fn likeness(&self, other: &Pairs) -> f64 {
        if self.total + other.total == 0 {
            return if self.blank == other.blank { 1.0 } else { 0.0 };
        }
        let shared: u32 = self
            .counts
            .iter()
            .map(|(pair, &count)| count.min(other.counts.get(pair).copied().unwrap_or(0)))
            .sum();
        f64::from(2 * shared) / f64::from(self.total + other.total)
    }
}

fn nearest_lines(nearest: &Option<Nearest>) -> String {
    match nearest {
        None => String::new(),
        Some(Nearest { line, text }) => format!("\nNearest text, at line {line}:\n{text}"),
    }
}

fn numbers(lines: &[usize], count: usize) -> String {
    let shown: Vec<String> = lines.iter().map(usize::to_string).collect();
    let more = if count > lines.len() { " …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(old: &str, new: &str) -> Edit {
        Edit { old: old.to_owned(), new: new.to_owned(), replace_all: false }
    }

    fn all(old: &str, new: &str) -> Edit {
        Edit { replace_all: true, ..one(old, new) }
    }

    #[test]
    fn edits_replace_text_one_after_the_other() {
        let cases = [
            ("one two", vec![one("one", "1")], "1 two", 1),
            ("one two", vec![one("one", "1"), one("1 two", "done")], "done", 2),
            ("a a a", vec![all("a", "b")], "b b b", 3),
            ("aaa", vec![all("aa", "b")], "ba", 1),
            ("x\ny\n", vec![one("x\n", "")], "y\n", 1),
        ];
        for (text, edits, want, replacements) in cases {
            let want = Applied { text: want.to_owned(), replacements };
            assert_eq!(apply(text, &edits), Ok(want), "{text:?}");
        }
    }

    #[test]
    fn edits_that_do_not_fit_are_refused() {
        let which = Which { number: 1, of: 1 };
        let cases = [
            ("x", vec![], EditFault::Nothing),
            ("x", vec![one("", "y")], EditFault::Empty { which }),
            ("x", vec![one("x", "x")], EditFault::Same { which }),
            ("x", vec![one("qq", "y")], EditFault::NoMatch { which, nearest: None }),
            (
                "a\nb\na\n",
                vec![one("a", "c")],
                EditFault::Ambiguous { which, count: 2, lines: vec![1, 3] },
            ),
            (
                "aaa",
                vec![one("aa", "c")],
                EditFault::Ambiguous { which, count: 2, lines: vec![1, 1] },
            ),
        ];
        for (text, edits, want) in cases {
            assert_eq!(apply(text, &edits), Err(want), "{text:?}");
        }
    }

    #[test]
    fn a_miss_shows_the_nearest_text() {
        let text = "fn main() {\n    let total = sum(values);\n    print(total);\n}\n";
        let fault = apply(text, &[one("let total = sum(value);\nprint(total)", "x")]).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "the text to replace was not found.\nNearest text, at line 2:\n    let total = sum(values);\n    print(total);"
        );
        let fault = apply(text, &[one("nothing like it at all", "x"), one("a", "b")]).unwrap_err();
        assert_eq!(fault.to_string(), "the text to replace was not found (edit 1 of 2).");
    }

    #[test]
    fn an_ambiguity_names_the_lines() {
        let fault = apply(&"a\n".repeat(20), &[one("a", "b")]).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "the text to replace occurs 20 times, at lines 1, 2, 3, 4, 5, 6, 7, 8 ….\nGive more of the text around it, or replace all"
        );
    }

    proptest! {
        #[test]
        fn replacing_all_is_what_the_standard_library_does(
            text in "[ab\n]{0,40}", old in "[ab]{1,3}", new in "[abc]{0,3}",
        ) {
            prop_assume!(old != new);
            match apply(&text, &[all(&old, &new)]) {
                Ok(applied) => {
                    prop_assert_eq!(applied.text, text.replace(&old, &new));
                    prop_assert_eq!(applied.replacements, text.matches(&old).count());
                }
                Err(fault) => {
                    let missed = matches!(fault, EditFault::NoMatch { .. });
                    prop_assert!(missed && !text.contains(&old));
                }
            }
        }

        #[test]
        fn edits_are_made_one_by_one_or_not_at_all(
            text in "[abc]{0,12}", edits in prop::collection::vec(("[abc]{0,2}", "[abc]{0,2}", any::<bool>()), 1..4),
        ) {
            let edits: Vec<Edit> = edits
                .into_iter()
                .map(|(old, new, replace_all)| Edit { old, new, replace_all })
                .collect();
            let stepwise = edits.iter().try_fold(text.clone(), |text, edit| {
                apply(&text, std::slice::from_ref(edit)).map(|applied| applied.text).ok()
            });
            prop_assert_eq!(apply(&text, &edits).map(|applied| applied.text).ok(), stepwise);
        }

        #[test]
        fn a_unique_text_is_replaced_where_it_is(before in "[a-m ]{0,20}", after in "[a-m ]{0,20}") {
            let applied = apply(&format!("{before}XY{after}"), &[one("XY", "Z")]).unwrap();
            prop_assert_eq!(applied.text, format!("{before}Z{after}"));
        }
    }
}
