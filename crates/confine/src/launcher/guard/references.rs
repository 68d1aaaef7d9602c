//! The ids that branches, tags and the index of a repository have.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::objects::{Format, Id, Kind};
use super::sieve::{Class, Sieve, Trail};
use zonekeep_policy::path::escape;

/// How many branches, tags and other references are read.
const MAX_REFERENCES: usize = 20_000;
/// The largest file of references that is read.
const MAX_TEXT: u64 = 32 * 1024 * 1024;
/// How many guarded files of an index are read.
const MAX_STAGED: usize = 5_000;

/// Ids by the names of references; those of guarded files in the index by [`staged`].
pub(super) type References = BTreeMap<String, Id>;

/// The name under which an index is noted that was read as a whole. Without it no file can
/// be said to be new in the index.
pub(super) const INDEX: &str = "index";

/// Returns the name of a file or link in the index.
pub(super) fn staged(kind: Kind, path: &[u8]) -> String {
    format!("{INDEX} {kind:?} {}", escape(path))
}

/// Returns the directory that a work tree's repository has its objects in.
pub(super) fn git_dir(work_tree: &Path) -> Option<PathBuf> {
    let entry = work_tree.join(".git");
    let dir = match fs::symlink_metadata(&entry).ok()? {
        facts if facts.is_dir() => entry,
        facts if facts.is_file() => {
            let text = read_bounded(&entry)?;
            let named = text.strip_prefix(b"gitdir: ")?.trim_ascii_end();
            let own = work_tree.join(OsStr::from_bytes(named));
            match read_bounded(&own.join("commondir")) {
                Some(common) => own.join(OsStr::from_bytes(common.trim_ascii_end())),
                None => own,
            }
        }
        _ => return None,
    };
    dir.canonicalize().ok()
}

fn read_bounded(path: &Path) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    fs::File::open(path).ok()?.take(MAX_TEXT).read_to_end(&mut text).ok()?;
    Some(text)
}

/// Reads all references of a repository, the stash and the guarded files of the index;
/// `None` where there are too many.
pub(super) fn references(dir: &Path, guarded: &Sieve) -> Option<References> {
    let mut all = References::new();
    let packed = read_bounded(&dir.join("packed-refs")).unwrap_or_default();
    if packed.len() as u64 >= MAX_TEXT {
        return None;
    }
    for line in packed.split(|&b| b == b'\n') {
        let Some(space) = line.iter().position(|&byte| byte == b' ') else { continue };
        if let Some(id) = Id::parse(&line[..space]) {
            all.insert(String::from_utf8_lossy(&line[space + 1..]).into_owned(), id);
        }
    }
    let stash = read_bounded(&dir.join("logs/refs/stash")).unwrap_or_default();
    for line in stash.split(|&byte| byte == b'\n') {
        // By its id: the number of an entry changes when another one is dropped.
        if let Some(id) = line.split(|&byte| byte == b' ').nth(1).and_then(Id::parse) {
            all.insert(format!("stash {}", id.0), id);
        }
    }
    let mut ahead = vec![dir.join("refs"), dir.join("HEAD")];
    let work_trees = fs::read_dir(dir.join("worktrees")).into_iter().flatten().flatten();
    ahead.extend(work_trees.map(|entry| entry.path().join("HEAD")));
    while let Some(path) = ahead.pop() {
        if all.len() + ahead.len() >= MAX_REFERENCES {
            return None;
        }
        let Ok(facts) = fs::symlink_metadata(&path) else { continue };
        if facts.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            ahead.extend(entries.map(|entry| entry.path()));
        } else if facts.is_file()
            && facts.len() <= 64 + 1
            && let Some(id) = read_bounded(&path).and_then(|text| Id::parse(text.trim_ascii_end()))
        {
            let name = path.strip_prefix(dir).unwrap_or(&path);
            all.insert(name.to_string_lossy().into_owned(), id);
        }
    }
    let format = all.values().next().map_or(Format::Sha1, Format::of);
    let work_trees = fs::read_dir(dir.join("worktrees")).into_iter().flatten().flatten();
    let indexes = work_trees.map(|entry| entry.path()).chain([dir.to_owned()]);
    let mut files = Some(References::new());
    for index in indexes.map(|dir| dir.join("index")).filter(|index| index.exists()) {
        let text = read_bounded(&index).filter(|text| (text.len() as u64) < MAX_TEXT);
        files = files
            .zip(text)
            .and_then(|(files, text)| add_index(files, &text, format, guarded))
            .filter(|files| files.len() <= MAX_STAGED);
    }
    if let Some(files) = files {
        all.extend(files);
        all.insert(INDEX.to_owned(), Id::of_bytes(&[]));
    }
    Some(all)
}

/// Adds the guarded files of an index; `None` where it cannot be read to its end.
fn add_index(
    mut all: References,
    text: &[u8],
    format: Format,
    guarded: &Sieve,
) -> Option<References> {
    let number = |at: usize| Some(u32::from_be_bytes(text.get(at..at + 4)?.try_into().ok()?));
    let version =
        number(4).filter(|version| text.starts_with(b"DIRC") && (2..=4).contains(version))?;
    let mut at = 12;
    let mut name = Vec::new();
    for _ in 0..number(8)? {
        let start = at;
        let mode = number(start + 24)?;
        at += 40;
        let id = Id::of_bytes(text.get(at..at + format.bytes())?);
        at += format.bytes();
        let flags = u16::from_be_bytes(text.get(at..at + 2)?.try_into().ok()?);
        at += if version > 2 && flags & 0x4000 != 0 { 4 } else { 2 };
        // In version 4 a name begins as the one before it, but for so many bytes.
        if version == 4 {
            let mut byte = *text.get(at)?;
            let mut cut = usize::from(byte & 0x7f);
            while byte & 0x80 != 0 {
                at += 1;
                byte = *text.get(at)?;
                cut = cut.checked_add(1)?.checked_mul(0x80)? | usize::from(byte & 0x7f);
            }
            at += 1;
            name.truncate(name.len().checked_sub(cut)?);
        } else {
            name.clear();
        }
        let end = at + text.get(at..)?.iter().position(|&byte| byte == 0)?;
        name.extend_from_slice(&text[at..end]);
        // Names of earlier versions are padded to eight bytes, with one zero at least.
        at = if version == 4 { end + 1 } else { start + ((end - start) / 8 + 1) * 8 };
        let kind = match mode & 0o170_000 {
            0o100_000 => Kind::File,
            0o120_000 => Kind::Link,
            // It stands for files that are not listed.
            0o040_000 => return None,
            _ => continue,
        };
        let is_merged = flags & 0x3000 == 0;
        if is_merged && is_guarded(guarded, &name) {
            all.insert(staged(kind, &name), id);
        }
    }
    // Extensions follow, and a checksum. One says that entries lie in another file.
    while at + format.bytes() < text.len() {
        if text[at..].starts_with(b"link") {
            return None;
        }
        at = at.checked_add(8)?.checked_add(number(at + 4)? as usize)?;
    }
    Some(all)
}

fn is_guarded(guarded: &Sieve, path: &[u8]) -> bool {
    let mut trail = Trail::default();
    let mut class = Class::Plain;
    for name in path.split(|&byte| byte == b'/') {
        class = guarded.class(&trail, name);
        trail = guarded.step(&trail, name);
    }
    class == Class::Pattern
}
