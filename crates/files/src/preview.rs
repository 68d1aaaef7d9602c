//! What a change would look like, for whoever is asked about it, with the
//! fingerprints that bind the answer to it.

use std::fmt::Write;
use std::time::Duration;

use similar::TextDiff;
use zonekeep_policy::Place;
use zonekeep_policy::fingerprint::Fingerprint;

use crate::edit::{self, Edit};
use crate::fault::Fault;
use crate::fingerprint::{self, Base, COMPARED, MAX_HASHED, is_executable, sha256};
use crate::read::sha256_of;
use crate::root::{Dir, File, Kind, Store};
use crate::target::{open_file, within};
use crate::text::{Decoded, Looks, looks_like};

/// How long comparing may take before it gets coarse.
const PATIENCE: Duration = Duration::from_millis(500);

/// The longest line that is shown whole.
const MAX_LINE: usize = 2_000;

/// The most entries of a directory that are listed.
const MAX_LISTED: usize = 1_000;

/// What would change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// A unified diff, or a sentence where there is nothing to compare by line.
    pub text: String,
    /// Whether that is all of it.
    pub whole: bool,
}

/// What a question shows about a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// What would change, where that can be found out.
    pub preview: Option<Preview>,
    /// The fingerprints of the places, in the order of the permit's.
    pub fingerprints: Vec<Fingerprint>,
    /// The SHA-256 of the file that would be there, where it can be hashed.
    pub sha256: Option<[u8; 32]>,
    /// Whether the file that would be there can be executed.
    pub executable: bool,
}

impl Shown {
    /// Returns that a place could not be looked at.
    fn failed(fault: &Fault) -> Self {
        let fingerprints = vec![fingerprint::unseen(fault)];
        Shown { preview: None, fingerprints, sha256: None, executable: false }
    }
}

/// What is at a place that a file is to be put at.
enum There {
    Nothing,
    File(Base),
    Unseen(Fault),
}

impl There {
    /// Looks at a place; without a store there is nothing yet.
    fn at(store: Option<&dyn Store>, place: &Place) -> Self {
        let Some(store) = store else { return There::Nothing };
        match store.open_file(place.path()).and_then(|file| Base::read(&*file)) {
            Ok(base) => There::File(base),
            Err(Fault::NotFound { .. }) => There::Nothing,
            Err(fault) => There::Unseen(fault),
        }
    }

    fn fingerprint(&self) -> Fingerprint {
        match self {
            There::Nothing => fingerprint::nothing(),
            There::File(base) => base.fingerprint(),
            There::Unseen(fault) => fingerprint::unseen(fault),
        }
    }

    /// Returns the change from what is here to `content`.
    fn compared(&self, content: &[u8], max_chars: usize) -> Option<Preview> {
        match self {
            There::Nothing => Some(compare(&[], content, max_chars)),
            There::File(Base { content: Some(old), .. }) => Some(compare(old, content, max_chars)),
            There::File(Base { content: None, meta }) => Some(sizes(meta.size, content.len())),
            There::Unseen(_) => None,
        }
    }
}

/// Returns the change that writing `content` would make, in at most about
/// `max_chars`.
pub fn preview(
    store: &dyn Store,
    place: &Place,
    content: &[u8],
    max_chars: usize,
) -> Result<Preview, Fault> {
    let there = There::at(Some(store), place);
    match (there.compared(content, max_chars), there) {
        (Some(preview), _) => Ok(preview),
        (None, There::Unseen(fault)) => Err(fault),
        (None, _) => Err(Fault::not_found()),
    }
}

/// Shows what writing `content` would change, as the whole file or after what is
/// there.
pub fn writing(
    store: Option<&dyn Store>,
    place: &Place,
    content: &[u8],
    append: bool,
    max_chars: usize,
) -> Shown {
    let there = There::at(store, place);
    let mut shown = Shown {
        preview: None,
        fingerprints: vec![there.fingerprint()],
        sha256: None,
        executable: matches!(&there, There::File(base) if is_executable(base.meta.mode)),
    };
    match &there {
        There::File(Base { content: Some(old), .. }) if append => {
            let after = [old, content].concat();
            shown.sha256 = Some(sha256(&after));
            shown.preview = there.compared(&after, max_chars);
        }
        There::File(Base { content: None, meta }) if append => {
            let Preview { text, whole } = compare(&[], content, max_chars);
            let text = format!("{} bytes stay as they are, and after them:\n{text}", meta.size);
            shown.preview = Some(Preview { text, whole });
        }
        _ => {
            shown.sha256 = Some(sha256(content));
            shown.preview = there.compared(content, max_chars);
        }
    }
    shown
}

/// Shows what edits would change in a file.
pub fn editing(
    store: Option<&dyn Store>,
    place: &Place,
    edits: &[Edit],
    max_chars: usize,
) -> Shown {
    let opened = store.ok_or_else(Fault::not_found).and_then(|store| open_file(store, place));
    let base = match opened.and_then(|file| Base::read(&*file)) {
        Ok(base) => base,
        Err(fault) => return Shown::failed(&fault),
    };
    let after = base.content.as_deref().and_then(|old| edit::result(old, edits, 4 * COMPARED).ok());
    Shown {
        fingerprints: vec![base.fingerprint()],
        sha256: after.as_deref().map(sha256),
        executable: is_executable(base.meta.mode),
        preview: after.and_then(|after| There::File(base).compared(&after, max_chars)),
    }
}

/// Shows what copying a file would put at `to`.
pub fn copying(
    store: Option<&dyn Store>,
    from: &Place,
    to_store: Option<&dyn Store>,
    to: &Place,
    max_chars: usize,
) -> Shown {
    let there = There::at(to_store, to);
    let opened = store.ok_or_else(Fault::not_found).and_then(|store| open_file(store, from));
    let mut shown = match opened {
        Ok(file) => carried(&*file, to, &there, max_chars),
        Err(fault) => Shown::failed(&fault),
    };
    if let There::File(replaced) = &there {
        // It passes its permissions on.
        shown.executable = is_executable(replaced.meta.mode);
    }
    shown.fingerprints.push(there.fingerprint());
    shown
}

/// Shows what moving an entry would put at `to`.
pub fn moving(
    store: Option<&dyn Store>,
    from: &Place,
    to_store: Option<&dyn Store>,
    to: &Place,
    max_chars: usize,
) -> Shown {
    let there = There::at(to_store, to);
    let look = |store: &dyn Store| {
        entry(store, from, |dir, name, kind| match kind {
            Kind::File => {
                let file = dir.open_file(name)?;
                within(from, file.meta().size)?;
                Ok(carried(&*file, to, &there, max_chars))
            }
            Kind::Dir => listed(store, dir, name, max_chars),
            Kind::Link => {
                let target = dir.read_link(name)?;
                let text = format!("a symbolic link to {}\n", String::from_utf8_lossy(&target));
                let fingerprints = vec![fingerprint::link(&target)];
                let preview = Some(Preview { text, whole: true });
                Ok(Shown { preview, fingerprints, sha256: None, executable: false })
            }
            Kind::Special => Err(Fault::Special),
        })
    };
    let looked = store.ok_or_else(Fault::not_found).and_then(look);
    let mut shown = looked.unwrap_or_else(|fault| Shown::failed(&fault));
    shown.fingerprints.push(there.fingerprint());
    shown
}

/// Looks at the entry at a place, whatever it is.
fn entry(
    store: &dyn Store,
    place: &Place,
    look: impl FnOnce(&dyn Dir, &[u8], Kind) -> Result<Shown, Fault>,
) -> Result<Shown, Fault> {
    let (parent, name) = place.path().split_last().ok_or(Fault::IsDirectory)?;
    let dir = store.open_dir(&parent)?;
    let kind = dir.stat(name)?.kind;
    look(&*dir, name, kind)
}

/// Shows the file that would arrive at a place.
fn carried(file: &dyn File, to: &Place, there: &There, max_chars: usize) -> Shown {
    let mode = file.meta().mode;
    let hashed = within(to, file.meta().size).and_then(|()| match Base::read(file)?.content {
        Some(content) => {
            let preview = there.compared(&content, max_chars);
            Ok((sha256(&content), preview))
        }
        None => {
            let sha256 = sha256_of(file, MAX_HASHED)?;
            let text = format!(
                "a file of {} bytes that is not shown, SHA-256 {}\n",
                file.meta().size,
                hex(&sha256)
            );
            Ok((sha256, Some(Preview { text, whole: false })))
        }
    });
    match hashed {
        Ok((sha256, preview)) => Shown {
            preview,
            fingerprints: vec![fingerprint::file(&sha256, mode)],
            sha256: Some(sha256),
            executable: is_executable(mode),
        },
        Err(fault) => Shown::failed(&fault),
    }
}

/// Shows the directory that would arrive at a place: the entries, not their contents.
fn listed(store: &dyn Store, dir: &dyn Dir, name: &[u8], max_chars: usize) -> Result<Shown, Fault> {
    let tree = fingerprint::tree(store, &dir.real_path().join(name), MAX_LISTED)?;
    let mut text = format!("a directory with {} entries:\n", tree.entries);
    for line in &tree.lines {
        text.push_str(line);
        text.push('\n');
    }
    if tree.entries > tree.lines.len() {
        let _ = writeln!(text, "… {} more entries", tree.entries - tree.lines.len());
    }
    let text = shorten(text, max_chars).text;
    let preview = Some(Preview { text, whole: false });
    Ok(Shown { preview, fingerprints: vec![tree.fingerprint], sha256: None, executable: false })
}

/// Writes a digest out.
pub fn hex(digest: &[u8; 32]) -> String {
    Fingerprint::new(*digest).to_string()
}

/// Returns the change from one content to another.
fn compare(old: &[u8], content: &[u8], max_chars: usize) -> Preview {
    match (as_text(old), as_text(content)) {
        (Some(before), Some(after)) => {
            let diff = unified(&before.text, &after.text);
            match diff.is_empty() && old != content {
                true => Preview { text: not_by_line(old, content), whole: true },
                false => shorten(diff, max_chars),
            }
        }
        _ if old.len().max(content.len()) as u64 > COMPARED => {
            sizes(old.len() as u64, content.len())
        }
        // Not text, or made to look so: what can be seen of it is shown.
        _ => {
            let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(content));
            shorten(unified(&old, &new), max_chars)
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

fn sizes(old: u64, new: usize) -> Preview {
    let text = format!("{old} bytes become {new} bytes that are not shown.\n");
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
