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

/// Returns the change that writing `content` would make, as a unified diff of at
/// most `max_chars`, or a sentence where there is nothing to compare by line.
pub fn preview(
    store: &dyn Store,
    place: &Place,
    content: &[u8],
    max_chars: usize,
) -> Result<String, Fault> {
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
        (Some(old), Some(new)) => Ok(shorten(unified(&old.text, &new.text), max_chars)),
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

fn sizes(old: u64, content: &[u8]) -> String {
    format!("{old} bytes become {} bytes that are not shown.\n", content.len())
}

fn shorten(mut diff: String, max_chars: usize) -> String {
    if let Some((at, _)) = diff.char_indices().nth(max_chars) {
        let end = diff[..at].rfind('\n').map_or(at, |newline| newline + 1);
        let left = diff[end..].lines().count();
        diff.truncate(end);
        let _ = writeln!(diff, "… {left} more lines");
    }
    diff
}

#[test]
fn a_long_diff_is_cut_at_a_line() {
    let new: String = (0..50).map(|n| format!("line {n}\n")).collect();
    let diff = shorten(unified("", &new), 60);
    assert!(diff.starts_with("@@ "), "{diff}");
    assert!(diff.ends_with(" more lines\n"), "{diff}");
    assert!(diff.chars().count() < 90, "{diff}");
}
