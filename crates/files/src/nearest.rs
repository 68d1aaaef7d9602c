//! Names that come close to one that does not exist.

use std::ops::ControlFlow;

use zonekeep_policy::path::{RelPath, escape};

use crate::fault::Fault;
use crate::root::Store;

/// How many names are shown.
const SHOWN: usize = 8;
/// How many names of a directory are looked at.
const LOOKED_AT: usize = 5_000;
/// Longer names are compared by their first bytes.
const COMPARED: usize = 64;

/// Adds what similar names there are to a "no such file".
pub(crate) fn with_similar(store: &dyn Store, path: &RelPath, fault: Fault) -> Fault {
    if !matches!(fault, Fault::NotFound { .. }) {
        return fault;
    }
    if let Err(gone) = store.check() {
        return gone;
    }
    Fault::NotFound { similar: similar(store, path).unwrap_or_default() }
}

fn similar(store: &dyn Store, path: &RelPath) -> Option<Vec<String>> {
    let (parent, wanted) = path.split_last()?;
    let mut near: Vec<(usize, Vec<u8>)> = Vec::new();
    let mut seen = 0;
    let each = &mut |name: &[u8], _| {
        seen += 1;
        if let Some(distance) = distance(wanted, name) {
            near.push((distance, name.to_vec()));
            if near.len() > SHOWN * 8 {
                near.sort();
                near.truncate(SHOWN);
            }
        }
        if seen < LOOKED_AT { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    store.open_dir(&parent).ok()?.entries(each).ok()?;
    near.sort();
    near.truncate(SHOWN);
    Some(near.into_iter().map(|(_, name)| escape(&name)).collect())
}

/// Returns how far two names are apart, unless that is too far to be a slip.
fn distance(wanted: &[u8], name: &[u8]) -> Option<usize> {
    let cut = |bytes: &[u8]| bytes[..bytes.len().min(COMPARED)].to_ascii_lowercase();
    let (wanted, name) = (cut(wanted), cut(name));
    let most = wanted.len().max(name.len()) / 3;
    if stem(&wanted) == stem(&name) {
        return Some(1);
    }
    if wanted.len().abs_diff(name.len()) > most {
        return None;
    }
    // The edit distance, one row at a time.
    let mut row: Vec<usize> = (0..=name.len()).collect();
    for (i, a) in wanted.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in name.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().filter(|&distance| distance <= most)
}

/// Returns the name up to its last dot, unless it starts there.
fn stem(name: &[u8]) -> &[u8] {
    match name.iter().rposition(|&b| b == b'.') {
        None | Some(0) => name,
        Some(dot) => &name[..dot],
    }
}

#[test]
fn slips_are_near_and_other_names_are_not() {
    let near = |a: &str, b: &str| distance(a.as_bytes(), b.as_bytes()).is_some();
    assert!(near("readme.md", "README.md"));
    assert!(near("report.txt", "report.csv"));
    assert!(near("confg.yaml", "config.yaml"));
    assert!(!near("a.txt", "main.rs"));
    assert!(!near("x", "y"));
}
