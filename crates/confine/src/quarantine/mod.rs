//! Where files go that a command planted: kept, and restored on request.
//!
//! Each entry is a directory of its own, with `entry.json`, which says what was
//! where, and `content`, which holds the files under plain numbers. Nothing in
//! it has a name, a mode or a link that the command chose.

pub(crate) mod handles;
mod restore;
mod store;

pub use restore::{Incomplete, RestoreError, restore};
pub(crate) use store::Store;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use zonekeep_policy::path::unescape;

/// The file that describes an entry; an entry without one is not finished.
const ENTRY: &str = "entry.json";
/// The directory with the files of an entry.
const CONTENT: &str = "content";

/// What was caught.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// A plain file.
    File,
    /// A directory, with all that was in it.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, a socket or a device: only that it was there is kept.
    Special,
}

/// Something that was caught, as one line of the list. All paths are escaped as
/// `zonekeep_policy::path` does it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Entry {
    /// The name of the entry.
    pub id: String,
    /// When it was caught, in seconds since 1970.
    pub time: u64,
    /// The host path of the writable directory.
    pub zone: String,
    /// Where it was below that.
    pub path: String,
    /// Where it was for the command.
    pub agent_path: String,
    /// The pattern that guards it.
    pub pattern: String,
    /// What it was.
    pub kind: Kind,
    /// What is kept: one item, or for a directory all that was in it.
    pub items: Vec<Item>,
    /// How many more there were than are kept.
    #[serde(default)]
    pub left_out: u64,
    /// The session that it belongs to, where one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

impl Entry {
    /// Returns where it was on the host.
    pub fn host_path(&self) -> PathBuf {
        let bytes = |text| OsString::from_vec(unescape(text).into_owned());
        PathBuf::from(bytes(&self.zone)).join(bytes(&self.path))
    }
}

/// A part of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Item {
    /// Where it was below the entry's path; empty for that path itself.
    pub path: String,
    /// What it was.
    pub kind: Kind,
    /// Its permissions.
    pub mode: u32,
    /// Where a link led to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The number that its content is kept under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<u32>,
    /// How many bytes it had.
    #[serde(default)]
    pub size: u64,
    /// Whether only its first bytes are kept.
    #[serde(default)]
    pub truncated: bool,
}

/// How many entries the quarantine holds.
const MAX_ENTRIES: usize = 2_000;
/// How many bytes of disk the entries take together.
const MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// What the quarantine can still take. Nothing is removed to make room: a command could
/// push out what the user has not looked at yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) entries: usize,
    pub(crate) bytes: u64,
}

impl Room {
    /// Looks at what is there, finished or not.
    pub(crate) fn of(dir: &Path) -> Self {
        let (mut entries, mut bytes) = (0, 0);
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            entries += 1;
            for dir in [entry.path(), entry.path().join(CONTENT)] {
                let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
                let facts = files.filter_map(|file| file.metadata().ok());
                bytes += facts.map(|facts| facts.blocks() * 512).sum::<u64>();
            }
        }
        Room {
            entries: MAX_ENTRIES.saturating_sub(entries),
            bytes: MAX_BYTES.saturating_sub(bytes),
        }
    }

    /// Fails where nothing more fits.
    pub(crate) fn check(self) -> io::Result<()> {
        match self.entries > 0 && self.bytes > 0 {
            true => Ok(()),
            false => Err(io::Error::other(format!(
                "the quarantine is full ({MAX_ENTRIES} entries or {} GiB): look at it with \
                 `zonekeep quarantine`, and remove entries with `zonekeep quarantine drop`",
                MAX_BYTES >> 30
            ))),
        }
    }
}

/// Returns all finished entries, the oldest first; those that cannot be read are
/// left out.
pub fn list(dir: &Path) -> Vec<Entry> {
    let names = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let mut entries: Vec<Entry> = names.filter_map(|id| read(dir, &id).ok()).collect();
    entries.sort_by(|a, b| (a.time, &a.id).cmp(&(b.time, &b.id)));
    entries
}

/// Returns the entry of that name.
pub fn read(dir: &Path, id: &str) -> io::Result<Entry> {
    let bytes = std::fs::read(entry_dir(dir, id)?.join(ENTRY))?;
    let entry: Entry = serde_json::from_slice(&bytes)?;
    match entry.id == id {
        true => Ok(entry),
        false => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Opens what is kept of an item.
pub fn open(dir: &Path, id: &str, item: &Item) -> io::Result<File> {
    let number = item.content.ok_or(io::ErrorKind::NotFound)?;
    File::open(entry_dir(dir, id)?.join(CONTENT).join(number.to_string()))
}

/// Removes an entry for good.
pub fn drop(dir: &Path, id: &str) -> io::Result<()> {
    let dir = entry_dir(dir, id)?;
    // First what makes it an entry, so that half of one is never listed.
    match std::fs::remove_file(dir.join(ENTRY)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => std::fs::remove_dir_all(dir),
    }
}

/// Returns the directory of an entry, whose name cannot lead elsewhere.
fn entry_dir(dir: &Path, id: &str) -> io::Result<PathBuf> {
    let plain = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    match !id.is_empty() && id.bytes().all(plain) {
        true => Ok(dir.join(id)),
        false => Err(io::ErrorKind::NotFound.into()),
    }
}
