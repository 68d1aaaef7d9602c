//! Writes entries.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::SeekFrom;
use rustix::io::Errno;

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
    /// Its length, with its holes.
    pub(crate) size: u64,
    /// How many bytes were written.
    pub(crate) data: u64,
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

    /// Copies what is in an open file by now, up to `most` bytes and without its holes; in
    /// the place of what has a number, where one is given.
    pub(crate) fn keep(&mut self, file: &File, most: u64, at: Option<u32>) -> io::Result<Stored> {
        let number = at.unwrap_or(self.next);
        self.next += u32::from(at.is_none());
        let path = self.dir.join(CONTENT).join(number.to_string());
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let to = options.open(path)?;
        let copied = copy_data(file, &to, most.min(MAX_FILE)).inspect_err(|_| {
            // Half of it is of no use, and takes room.
            let _ = to.set_len(0);
        });
        let Copied { length, data, whole } = copied?;
        Ok(Stored { number, size: length, data, truncated: !whole })
    }

    /// Keeps bytes as the next file.
    pub(crate) fn put(&mut self, content: &[u8]) -> io::Result<u32> {
        let number = self.next;
        self.next += 1;
        let path = self.dir.join(CONTENT).join(number.to_string());
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        io::Write::write_all(&mut file, content)?;
        Ok(number)
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

/// What was copied of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Copied {
    /// How long the copy is, with its holes.
    length: u64,
    /// How many bytes were written.
    data: u64,
    /// Whether that is all of it.
    whole: bool,
}

/// Copies up to `most` bytes of an open file to an empty one, wherever the position of
/// either is, and leaves out its holes.
pub(super) fn copy_data(from: &File, to: &File, most: u64) -> io::Result<Copied> {
    let size = from.metadata()?.len();
    let mut buffer = vec![0; 64 * 1024];
    let (mut at, mut data) = (0, 0);
    while at < size {
        let Some((start, end)) = next_data(from, at, size)? else { break };
        at = start;
        while at < end && data < most {
            let wanted = (end - at).min(most - data).min(buffer.len() as u64) as usize;
            let got = from.read_at(&mut buffer[..wanted], at)?;
            if got == 0 {
                // It was cut short meanwhile.
                to.set_len(at)?;
                return Ok(Copied { length: at, data, whole: true });
            }
            to.write_all_at(&buffer[..got], at)?;
            at += got as u64;
            data += got as u64;
        }
        if at < end {
            return Ok(Copied { length: at, data, whole: false });
        }
    }
    match to.set_len(size) {
        Ok(()) => Ok(Copied { length: size, data, whole: true }),
        // This file system has no files of that length.
        Err(_) if at < size => Ok(Copied { length: at, data, whole: false }),
        Err(error) => Err(error),
    }
}

/// Returns the next part of a file that is no hole, from its start to its end.
fn next_data(file: &File, at: u64, size: u64) -> io::Result<Option<(u64, u64)>> {
    let start = match rustix::fs::seek(file, SeekFrom::Data(at)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok(None),
        // Not every file system tells of holes.
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(Some((at, size))),
        Err(errno) => return Err(errno.into()),
    };
    let end = rustix::fs::seek(file, SeekFrom::Hole(start)).unwrap_or(size).min(size);
    Ok((start < size).then_some((start, end.max(start))))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn holes_are_kept_and_take_no_room() {
        let from = tempfile::tempfile().unwrap();
        let long = 1 << 40;
        from.write_all_at(b"begin", 0).unwrap();
        from.write_all_at(b"middle", 1 << 30).unwrap();
        from.set_len(long).unwrap();
        let to = tempfile::tempfile().unwrap();
        let copied = copy_data(&from, &to, MAX_FILE).unwrap();
        assert!(copied.whole && copied.length == long, "{copied:?}");
        assert!(copied.data < 1 << 20, "{copied:?}");
        assert!(to.metadata().unwrap().blocks() < 2048, "{:?}", to.metadata());
        let mut text = [0; 6];
        to.read_exact_at(&mut text, 1 << 30).unwrap();
        assert_eq!(&text, b"middle");
    }

    #[test]
    fn only_so_much_data_is_kept() {
        let from = tempfile::tempfile().unwrap();
        from.write_all_at(&[b'x'; 100_000], 0).unwrap();
        let to = tempfile::tempfile().unwrap();
        let copied = copy_data(&from, &to, 70_000).unwrap();
        assert_eq!(copied, Copied { length: 70_000, data: 70_000, whole: false });
        assert_eq!(to.metadata().unwrap().len(), 70_000);
        let empty = copy_data(&tempfile::tempfile().unwrap(), &to, 10).unwrap();
        assert!(empty.whole && empty.length == 0);
    }
}
