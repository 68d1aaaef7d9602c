//! Fingerprints of entries: they bind a yes to the content that the question showed.
//!
//! A preview takes the fingerprint of the very bytes that it shows, and the effect
//! takes it again of the very bytes that it uses. The content of a source is always
//! compared by its SHA-256, so that neither a swapped name nor a writer with an open
//! descriptor can put other content in its place. A file that would be replaced and
//! is too large to be shown is compared by inode, size and times.

use std::ops::ControlFlow;

use sha2::{Digest, Sha256};
use zonekeep_policy::fingerprint::Fingerprint;
use zonekeep_policy::path::RelPath;

use crate::fault::Fault;
use crate::read::{read_up_to, sha256_of};
use crate::root::{Dir, File, Kind, Meta, Store};

/// The largest file whose content is shown in a question.
pub(crate) const COMPARED: u64 = 4 * 1024 * 1024;
/// The most bytes that are hashed for a question, of a file or of a whole directory.
pub(crate) const MAX_HASHED: u64 = 8 * 1024 * 1024 * 1024;
/// The most entries of a directory that are looked through before it is moved.
pub(crate) const MAX_ENTRIES: usize = 200_000;

/// The permission bits that let somebody execute a file.
const EXECUTE: u32 = 0o111;

/// Returns whether anybody may execute a file with these permissions.
pub(crate) fn is_executable(mode: u32) -> bool {
    mode & EXECUTE != 0
}

/// Returns the SHA-256 of a content.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Returns the fingerprint of a place where there is nothing.
pub(crate) fn nothing() -> Fingerprint {
    tagged("nothing", &[])
}

/// Returns the fingerprint of a file, from the SHA-256 of its content.
pub(crate) fn file(sha256: &[u8; 32], mode: u32) -> Fingerprint {
    tagged("file", &[&[u8::from(is_executable(mode))], sha256])
}

/// Returns the fingerprint of a link, from its text.
pub(crate) fn link(target: &[u8]) -> Fingerprint {
    tagged("link", &[target])
}

/// Returns the fingerprint of a place that cannot be looked at. A second look that
/// succeeds, or fails in another way, finds another one.
pub(crate) fn unseen(fault: &Fault) -> Fingerprint {
    match fault {
        Fault::NotFound { .. } => nothing(),
        fault => tagged("fault", &[fault.code().as_bytes()]),
    }
}

fn tagged(tag: &str, parts: &[&[u8]]) -> Fingerprint {
    let mut hash = Sha256::new();
    for part in std::iter::once(&tag.as_bytes()).chain(parts) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    Fingerprint::new(hash.finalize().into())
}

/// The file that a change starts from.
pub(crate) struct Base {
    /// The content, where it is small enough to be shown.
    pub(crate) content: Option<Vec<u8>>,
    pub(crate) meta: Meta,
}

impl Base {
    /// Reads an open file.
    pub(crate) fn read(file: &dyn File) -> Result<Self, Fault> {
        let content = match read_up_to(file, COMPARED) {
            Ok(content) => Some(content),
            Err(Fault::TooLarge { .. }) => None,
            Err(fault) => return Err(fault),
        };
        Ok(Base { content, meta: file.meta().clone() })
    }

    pub(crate) fn fingerprint(&self) -> Fingerprint {
        match &self.content {
            Some(content) => file(&sha256(content), self.meta.mode),
            None => large(&self.meta),
        }
    }
}

/// Returns the fingerprint of the base of an edit, whose whole content was read.
pub(crate) fn of_base(content: &[u8], meta: &Meta) -> Fingerprint {
    match content.len() as u64 {
        0..=COMPARED => file(&sha256(content), meta.mode),
        _ => large(meta),
    }
}

fn large(meta: &Meta) -> Fingerprint {
    let version = &meta.version;
    let times = [version.modified, version.changed];
    let times = times.map(|(secs, nanos)| [secs.to_le_bytes(), nanos.to_le_bytes()].concat());
    let numbers = [version.device, version.node, version.size, meta.mode.into()];
    let numbers = numbers.map(u64::to_le_bytes).concat();
    tagged("large", &[&numbers, &times.concat()])
}

/// Fails unless the name still has the file, or nothing, that the question showed.
pub(crate) fn is_as_shown(
    dir: &dyn Dir,
    name: &[u8],
    shown: Option<Fingerprint>,
    what: &'static str,
) -> Result<(), Fault> {
    let Some(shown) = shown else { return Ok(()) };
    let found = match dir.open_file(name).and_then(|file| Base::read(&*file)) {
        Ok(base) => base.fingerprint(),
        Err(fault) => unseen(&fault),
    };
    if found == shown { Ok(()) } else { Err(Fault::Changed { what }) }
}

/// Fails unless a source that was copied is the one that the question showed.
pub(crate) fn is_shown(
    shown: Option<Fingerprint>,
    sha256: &[u8; 32],
    mode: u32,
) -> Result<(), Fault> {
    match shown {
        Some(shown) if shown != file(sha256, mode) => Err(Fault::Changed { what: "the file" }),
        _ => Ok(()),
    }
}

/// A directory with all that is below it.
pub(crate) struct Tree {
    pub(crate) fingerprint: Fingerprint,
    /// A line for each entry, in order, up to the number that was asked for.
    pub(crate) lines: Vec<String>,
    pub(crate) entries: usize,
}

/// Reads a directory and all that is below it, without following any link.
pub(crate) fn tree(store: &dyn Store, top: &RelPath, max_lines: usize) -> Result<Tree, Fault> {
    let mut pending = vec![RelPath::root()];
    let (mut lines, mut entries, mut bytes) = (Vec::new(), 0, 0_u64);
    let mut hash = Sha256::new();
    while let Some(below) = pending.pop() {
        let dir = store.open_plain_dir(&top.join_rel(&below))?;
        let mut names = Vec::new();
        dir.entries(&mut |name, kind| {
            names.push((name.to_vec(), kind));
            match entries + names.len() > MAX_ENTRIES {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        entries += names.len();
        if entries > MAX_ENTRIES {
            return Err(Fault::TooMany { limit: MAX_ENTRIES });
        }
        names.sort();
        for (name, kind) in names {
            let path = below.join(&name);
            let (fingerprint, about) = match kind {
                Kind::Dir => {
                    pending.push(path.clone());
                    (tagged("directory", &[]), "a directory".to_owned())
                }
                Kind::Link => {
                    let target = dir.read_link(&name)?;
                    let shown = String::from_utf8_lossy(&target).into_owned();
                    (link(&target), format!("a link to {shown}"))
                }
                Kind::Special => (tagged("special", &[]), "a pipe, socket or device".to_owned()),
                Kind::File => {
                    let open = dir.open_file(&name)?;
                    let meta = open.meta();
                    bytes = bytes.saturating_add(meta.size);
                    if bytes > MAX_HASHED {
                        return Err(Fault::TooLarge { size: bytes, limit: MAX_HASHED });
                    }
                    let runs = if is_executable(meta.mode) { ", executable" } else { "" };
                    let about = format!("{} bytes{runs}", meta.size);
                    (file(&sha256_of(&*open, MAX_HASHED)?, meta.mode), about)
                }
            };
            for part in [path.as_bytes(), fingerprint.to_string().as_bytes()] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
            if lines.len() < max_lines {
                lines.push(format!("{path}: {about}"));
            }
        }
    }
    let fingerprint = tagged("tree", &[&hash.finalize()]);
    Ok(Tree { fingerprint, lines, entries })
}

#[test]
fn every_kind_of_entry_has_its_own_fingerprint() {
    let content = sha256(b"x");
    let all = [
        nothing(),
        file(&content, 0o644),
        file(&content, 0o755),
        file(&sha256(b"y"), 0o644),
        link(b"x"),
        link(b""),
        unseen(&Fault::IsDirectory),
        unseen(&Fault::Special),
    ];
    for (i, one) in all.iter().enumerate() {
        for (j, other) in all.iter().enumerate() {
            assert_eq!(one == other, i == j, "{i} and {j}");
        }
    }
    assert_eq!(unseen(&Fault::not_found()), nothing());
}
