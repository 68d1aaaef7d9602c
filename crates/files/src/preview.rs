//! What a change would look like, for whoever is asked about it.

use std::fmt::Write;
use std::time::Duration;

use similar::TextDiff;
use zonekeep_policy::Place;

use crate::fault::Fault;
use crate::read::read_up_to;
use crate::root::Store;
use crate::text::{Decoded, Looks, looks_like};

/// Larger files are not compared for a preview.
const COMPARED: u64 = 4 * 1024 * 1024;
/// How long comparing may take before it gets coarse.
const PATIENCE: Duration = Duration::from_millis(500);

/// The longest line that is shown whole.
const MAX_LINE: usize = 2_000;

/// What would change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// A unified diff, or a sentence where there is nothing to compare by line.
    pub text: String,
    /// Whether that is all of it.
    pub whole: bool,
}

/// Returns the change that writing `content` would make, in at most about
/// `max_chars`.
pub fn preview(
    store: &dyn Store,
    place: &Place,
    content: &[u8],
    max_chars: usize,
) -> Result<Preview, Fault> {
    let old = match store.open_file(place.path()) {
        Ok(file) => match read_up_to(&*file, COMPARED) {
            Ok(old) => old,
            Err(Fault::TooLarge { size, .. }) => return Ok(sizes(size, content)),
            Err(fault) => return Err(fault),
        },
        Err(Fault::NotFound { .. }) => Vec::new(),
        Err(fault) => return Err(fault),
    };
    match (as_text(&old), as_text(content)) {
        (Some(before), Some(after)) => {
            let diff = unified(&before.text, &after.text);
            match diff.is_empty() && old != content {
                true => Ok(Preview { text: not_by_line(&old, content), whole: true }),
                false => Ok(shorten(diff, max_chars)),
            }
        }
        _ if old.len().max(content.len()) as u64 > COMPARED => Ok(sizes(old.len() as u64, content)),
        // Not text, or made to look so: what can be seen of it is shown.
        _ => {
            let (old, new) = (String::from_utf8_lossy(&old), String::from_utf8_lossy(content));
            Ok(shorten(unified(&old, &new), max_chars))
        }
    }
}

/// Returns the hunks of a unified diff, with three lines around each.
pub(crate) fn unified(old: &str, new: &str) -> String {
    let mut diff = TextDiff::configure();
    let diff = diff.timeout(PATIENCE).diff_lines(old, new);
    diff.unified_diff().context_radius(3).to_string()
}

fn as_text(bytes: &[u8]) -> Option<Decoded> {
    if bytes.len() as u64 > COMPARED || looks_like(bytes) != Looks::Text {
        return None;
    }
    Decoded::new(bytes)
}

/// Says what changes where no line does: how lines end, or how text is encoded.
fn not_by_line(old: &[u8], new: &[u8]) -> String {
    let ends = |bytes: &[u8]| {
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
        let with_return = bytes.windows(2).filter(|pair| pair == b"\r\n").count();
        format!("{} lines that end in LF and {with_return} in CR LF", lines - with_return)
    };
    format!(
        "No line changes, but how the lines end or the text is encoded: {} bytes with {} become {} bytes with {}.\n",
        old.len(),
        ends(old),
        new.len(),
        ends(new),
    )
}

fn sizes(old: u64, content: &[u8]) -> Preview {
    let text = format!("{old} bytes become {} bytes that are not shown.\n", content.len());
    Preview { text, whole: false }
}

/// Cuts long lines, and what is too much.
fn shorten(diff: String, max_chars: usize) -> Preview {
    if diff.chars().count() <= max_chars && diff.lines().all(|line| line.len() <= MAX_LINE) {
        return Preview { text: diff, whole: true };
    }
    let (mut text, mut room, mut whole) = (String::new(), max_chars, true);
    let mut left = diff.lines().count();
    for line in diff.lines() {
        let length = line.chars().count();
        let shown = length.min(MAX_LINE);
        if shown >= room {
            break;
        }
        left -= 1;
        room -= shown + 1;
        text.extend(line.chars().take(shown));
        if shown < length {
            whole = false;
            let _ = write!(text, " … {} more characters of this line", length - shown);
        }
        text.push('\n');
    }
    if left > 0 {
        whole = false;
        let _ = writeln!(text, "… {left} more lines");
    }
    Preview { text, whole }
}

#[test]
fn a_long_diff_is_cut_at_a_line() {
    let new: String = (0..50).map(|n| format!("line {n}\n")).collect();
    let Preview { text: diff, whole } = shorten(unified("", &new), 60);
    assert!(!whole);
    assert!(diff.starts_with("@@ "), "{diff}");
    assert!(diff.ends_with(" more lines\n"), "{diff}");
    assert!(diff.chars().count() < 90, "{diff}");
}

#[test]
fn a_long_line_hides_nothing_after_it() {
    let new = format!("{}\nend\n", "x".repeat(150_000));
    let Preview { text, whole } = shorten(unified("", &new), 100_000);
    assert!(!whole && text.ends_with(" more characters of this line\n+end\n"), "{}", text.len());
}

#[test]
fn changed_line_ends_are_told() {
    let text = not_by_line(b"a\nb\n", b"a\r\nb\r\n");
    assert_eq!(
        text,
        "No line changes, but how the lines end or the text is encoded: 4 bytes with 2 lines that \
         end in LF and 0 in CR LF become 6 bytes with 0 lines that end in LF and 2 in CR LF.\n"
    );
}
