//! Writes entries.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::{CONTENT, ENTRY, Entry};

/// The most that is kept of one file.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// An entry that is being written.
#[derive(Debug)]
pub(crate) struct Store {
    id: String,
    time: u64,
    dir: PathBuf,
    next: u32,
}

/// What was kept of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stored {
    pub(crate) number: u32,
    pub(crate) size: u64,
    pub(crate) truncated: bool,
}

impl Store {
    /// Makes a new entry, and the quarantine where it is missing.
    pub(crate) fn new(quarantine: &Path) -> io::Result<Self> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let private = |path: &Path| DirBuilder::new().mode(0o700).create(path);
        DirBuilder::new().recursive(true).mode(0o700).create(quarantine)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let pid = rustix::process::getpid().as_raw_nonzero();
        loop {
            let count = COUNTER.fetch_add(1, Ordering::Relaxed);
            let id = format!("{:08x}-{pid:x}-{count:x}", now.as_secs());
            let dir = quarantine.join(&id);
            match private(&dir) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                result => result?,
            }
            private(&dir.join(CONTENT))?;
            return Ok(Store { id, time: now.as_secs(), dir, next: 0 });
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn time(&self) -> u64 {
        self.time
    }

    /// Copies what is in an open file by now, up to `most` bytes; in the place of
    /// what has a number, where one is given.
    pub(crate) fn keep(&mut self, file: &File, most: u64, at: Option<u32>) -> io::Result<Stored> {
        let number = at.unwrap_or(self.next);
        self.next += u32::from(at.is_none());
        let path = self.dir.join(CONTENT).join(number.to_string());
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut to = options.open(path)?;
        let most = most.min(MAX_FILE);
        let size = io::copy(&mut FromStart { file, at: 0 }.take(most), &mut to)?;
        let truncated = size == most && file.metadata()?.len() > size;
        Ok(Stored { number, size, truncated })
    }

    /// Finishes the entry.
    pub(crate) fn finish(&self, entry: &Entry) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(entry)?;
        let path = self.dir.join(ENTRY);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        io::Write::write_all(&mut file, &text)
    }

    /// Removes all of it.
    pub(crate) fn discard(self) {
        let _ = std::fs::remove_dir_all(self.dir);
    }
}

/// Reads an open file from its start, wherever its own position is.
struct FromStart<'f> {
    file: &'f File,
    at: u64,
}

impl Read for FromStart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read_at(buffer, self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}
