//! Where files go that a command planted: kept, and restored on request.
//!
//! Each entry is a directory of its own, with `entry.json`, which says what was
//! where, and `content`, which holds the files under plain numbers. Nothing in
//! it has a name, a mode or a link that the command chose.

mod approved;
pub(crate) mod handles;
mod restore;
mod store;

pub(crate) use approved::Approved;
pub use restore::{Incomplete, Present, RestoreError, restore, restore_over};
pub(crate) use store::Store;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use zonekeep_policy::path::{RelPath, escape, unescape};

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
    /// Returns the writable directory that it was in, on the host.
    pub fn host_zone(&self) -> PathBuf {
        PathBuf::from(OsString::from_vec(unescape(&self.zone).into_owned()))
    }

    /// Returns where it was on the host.
    pub fn host_path(&self) -> PathBuf {
        self.host_zone().join(OsString::from_vec(unescape(&self.path).into_owned()))
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
/// The part of both that the zones of one sandbox get: a project that fills its part stops
/// its own commands, and three others can do the same before the quarantine is full.
const SHARE: u64 = 4;

/// Why the quarantine takes nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Full {
    /// The zones of one sandbox have used up their part.
    #[error(
        "the quarantine is full for this project ({} entries or {} MiB)",
        MAX_ENTRIES as u64 / SHARE, (MAX_BYTES / SHARE) >> 20
    )]
    Project,
    /// All projects together have used up the whole.
    #[error("the quarantine is full ({MAX_ENTRIES} entries or {} GiB of all projects)", MAX_BYTES >> 30)]
    Everywhere,
}

/// Fails where the quarantine takes nothing more from a sandbox with these zones, by their
/// host paths.
pub fn check_room(dir: &Path, zones: &[PathBuf]) -> Result<(), Full> {
    Room::of(dir, zones).full().map_or(Ok(()), Err)
}

/// What the quarantine can still take. Nothing is removed to make room: a command could
/// push out what the user has not looked at yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) entries: usize,
    pub(crate) bytes: u64,
    /// Which bound of entries and which of bytes is nearer.
    nearer: (Full, Full),
}

impl Room {
    /// Looks at all entries, finished or not. An entry counts for a sandbox where it comes
    /// from one of its zones.
    pub(crate) fn of(dir: &Path, zones: &[PathBuf]) -> Self {
        let (mut all, mut own) = ((0, 0), (0, 0));
        let zones: Vec<String> =
            zones.iter().map(|zone| escape(zone.as_os_str().as_bytes())).collect();
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let mut bytes = 0;
            for dir in [entry.path(), entry.path().join(CONTENT)] {
                let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
                let facts = files.filter_map(|file| file.metadata().ok());
                bytes += facts.map(|facts| facts.blocks() * 512).sum::<u64>();
            }
            all = (all.0 + 1, all.1 + bytes);
            if zone_of(&entry.path()).is_some_and(|zone| zones.contains(&zone)) {
                own = (own.0 + 1, own.1 + bytes);
            }
        }
        let all = (MAX_ENTRIES.saturating_sub(all.0), MAX_BYTES.saturating_sub(all.1));
        let own = (
            (MAX_ENTRIES / SHARE as usize).saturating_sub(own.0),
            (MAX_BYTES / SHARE).saturating_sub(own.1),
        );
        let nearer = |is_own| if is_own { Full::Project } else { Full::Everywhere };
        Room {
            entries: all.0.min(own.0),
            bytes: all.1.min(own.1),
            nearer: (nearer(own.0 <= all.0), nearer(own.1 <= all.1)),
        }
    }

    /// Returns the bound where nothing more fits.
    fn full(self) -> Option<Full> {
        match (self.entries, self.bytes) {
            (0, _) => Some(self.nearer.0),
            (_, 0) => Some(self.nearer.1),
            _ => None,
        }
    }

    /// Fails where nothing more fits.
    pub(crate) fn check(self) -> io::Result<()> {
        let Some(full) = self.full() else { return Ok(()) };
        Err(io::Error::other(format!("{full}; `zonekeep quarantine drop` removes entries")))
    }
}

/// Returns the zone that an entry comes from; an unfinished one does not tell.
fn zone_of(entry: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct Zone {
        zone: String,
    }
    let bytes = std::fs::read(entry.join(ENTRY)).ok()?;
    serde_json::from_slice::<Zone>(&bytes).ok().map(|entry| entry.zone)
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

/// A file that waits for the user: a change that was made to a copy of `zone`/`path`.
#[derive(Debug, Clone, Copy)]
pub struct Waiting<'w> {
    /// The host directory that the user's own file lies in.
    pub zone: &'w Path,
    /// Its path below that.
    pub path: &'w RelPath,
    /// Its path for the command.
    pub agent_path: &'w Path,
    /// Why it waits, in the place of a pattern.
    pub pattern: &'w str,
    /// The changed content.
    pub content: &'w [u8],
    /// Its permissions.
    pub mode: u32,
}

/// Keeps a changed file, and returns the name of the entry. Where an entry holds the same
/// change already, it is that one.
pub fn keep(dir: &Path, waiting: &Waiting<'_>) -> io::Result<String> {
    let zone = escape(waiting.zone.as_os_str().as_bytes());
    let path = escape(waiting.path.as_bytes());
    let mode = waiting.mode & 0o777;
    let is_same = |entry: &Entry| {
        let [item] = &entry.items[..] else { return false };
        let same = entry.zone == zone && entry.path == path && item.mode == mode;
        let mut content = Vec::new();
        same && item.size == waiting.content.len() as u64
            && open(dir, &entry.id, item)
                .and_then(|mut file| io::Read::read_to_end(&mut file, &mut content))
                .is_ok_and(|_| content == waiting.content)
    };
    if let Some(known) = list(dir).into_iter().find(is_same) {
        return Ok(known.id);
    }
    Room::of(dir, &[waiting.zone.to_owned()]).check()?;
    let mut store = Store::new(dir)?;
    let written = store.put(waiting.content).and_then(|content| {
        let item = Item {
            path: String::new(),
            kind: Kind::File,
            mode,
            link: None,
            content: Some(content),
            size: waiting.content.len() as u64,
            truncated: false,
        };
        store.finish(&Entry {
            id: store.id().to_owned(),
            time: store.time(),
            zone,
            path,
            agent_path: escape(waiting.agent_path.as_os_str().as_bytes()),
            pattern: waiting.pattern.to_owned(),
            kind: Kind::File,
            items: vec![item],
            left_out: 0,
            session: None,
        })
    });
    match written {
        Ok(()) => Ok(store.id().to_owned()),
        Err(error) => {
            store.discard();
            Err(error)
        }
    }
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
