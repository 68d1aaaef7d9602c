//! Tells keepers what the user restores while their commands run: it is not the commands'.
//!
//! A file beside the quarantine, which no command can reach, names a path and content by
//! their hash.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

/// How long approvals are kept: longer than commands run.
const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// What the user puts at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approved<'c> {
    Directory,
    File(&'c [u8]),
    Link(&'c [u8]),
}

impl Approved<'_> {
    /// Notes that the user puts this at a host path now.
    pub(super) fn note(self, quarantine: &Path, host: &[u8]) -> io::Result<()> {
        let path = self.path(quarantine, host);
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir)?;
            remove_old(dir);
        }
        // Written anew, so that its time is that of this approval.
        let _ = fs::remove_file(&path);
        fs::write(path, "")
    }

    /// Returns whether the user has put this at a host path since a time.
    pub(crate) fn is_noted(self, quarantine: &Path, host: &[u8], since: SystemTime) -> bool {
        let noted = fs::metadata(self.path(quarantine, host));
        noted.and_then(|noted| noted.modified()).is_ok_and(|time| time >= since)
    }

    fn path(self, quarantine: &Path, host: &[u8]) -> PathBuf {
        let (kind, content) = match self {
            Approved::Directory => (b'd', &b""[..]),
            Approved::File(content) => (b'f', content),
            Approved::Link(content) => (b'l', content),
        };
        let hash = Sha256::new().chain_update(Sha256::digest(host)).chain_update([kind]);
        let hash = hash.chain_update(content).finalize();
        let name: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        quarantine.with_file_name("approved").join(name)
    }
}

fn remove_old(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let time = entry.metadata().and_then(|noted| noted.modified());
        let age = time.ok().and_then(|time| time.elapsed().ok());
        if age.is_some_and(|age| age > MAX_AGE) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
