//! Edits do what replacing text by hand does, or nothing.
//!
//! An input is a text and then edits, with a NUL between all: the old text, its
//! replacement, the next old text, and so on. An old text that starts with `*`
//! stands for every occurrence of the rest.

#![no_main]

use libfuzzer_sys::fuzz_target;
use zonekeep_files::edit::{Edit, EditFault, apply};

fuzz_target!(|input: &str| {
    let mut parts = input.split('\0');
    let text = parts.next().unwrap_or_default();
    let mut edits = Vec::new();
    while let Some(old) = parts.next() {
        let (old, replace_all) = match old.strip_prefix('*') {
            Some(old) => (old.to_owned(), true),
            None => (old.to_owned(), false),
        };
        let new = parts.next().unwrap_or_default().to_owned();
        edits.push(Edit { old, new, replace_all });
    }
    let got = apply(text, &edits);
    if let Err(fault) = &got {
        assert!(!fault.to_string().is_empty());
    }
    match (by_hand(text, &edits), got) {
        (Some((want, replacements)), Ok(applied)) => {
            assert_eq!(applied.text, want);
            assert_eq!(applied.replacements, replacements);
        }
        (None, Err(_)) => {}
        (want, got) => panic!("by hand {want:?}, but {got:?}"),
    }
    // Whatever came of it, leaving out the last edit comes to the same or less.
    if let (Ok(_), Some((_, before))) = (apply(text, &edits), edits.split_last()) {
        assert!(matches!(apply(text, before), Ok(_) | Err(EditFault::Nothing)));
    }
});

/// Larger texts are not made.
const LIMIT: usize = 64 * 1024 * 1024;

/// Makes the edits the slow and obvious way.
fn by_hand(text: &str, edits: &[Edit]) -> Option<(String, usize)> {
    let mut text = text.to_owned();
    let mut replacements = 0;
    for Edit { old, new, replace_all } in edits {
        if old.is_empty() || old == new {
            return None;
        }
        // Also those that lie over each other.
        let places = text.char_indices().filter(|(at, _)| text[*at..].starts_with(old)).count();
        match (places, replace_all) {
            (0, _) => return None,
            (_, true) => {
                let count = text.matches(old).count();
                if text.len() + count * new.len().saturating_sub(old.len()) > LIMIT {
                    return None;
                }
                replacements += count;
                text = text.replace(old, new);
            }
            (1, false) => {
                replacements += 1;
                text = text.replacen(old, new, 1);
            }
            (_, false) => return None,
        }
    }
    (!edits.is_empty()).then_some((text, replacements))
}
