//! A file of settings: read with care, kept as a backup, replaced in one step.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::failure::{Failure, UNSAFE};

/// The most that is read.
const MAX_SIZE: u64 = 32 << 20;
/// What is added to the name of a backup.
const BACKUP: &str = "zonekeep-backup";
/// The most backups beside one file.
const MAX_BACKUPS: usize = 1000;

/// A file of settings as it was found.
pub(super) struct Settings {
    /// What the client calls it.
    pub(super) path: PathBuf,
    /// Where it really is, behind all links.
    pub(super) real: PathBuf,
    /// What it holds; nothing where there is none yet.
    pub(super) text: String,
    /// Its permissions, where it exists.
    mode: Option<u32>,
}

impl Settings {
    /// Reads a file, which need not exist.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let real = real_path(path)?;
        let (text, mode) = match load(&real)? {
            Some((text, mode)) => (text, Some(mode)),
            None => (String::new(), None),
        };
        Ok(Settings { path: path.to_owned(), real, text, mode })
    }

    /// Returns whether links lead elsewhere than the path says.
    pub(super) fn is_linked(&self) -> bool {
        self.path != self.real
    }

    /// Writes new text, unless the file changed since it was read; returns where
    /// the old text is kept. `usual` is for a file that does not exist yet.
    pub(super) fn replace(&self, text: &str, usual: u32) -> Result<Option<PathBuf>, Failure> {
        let now = load(&self.real)?;
        if now.as_ref().map(|(text, _)| text) != self.mode.map(|_| &self.text) {
            let shown = self.real.display();
            return Err(Failure::message(UNSAFE, format!("{shown} has just been changed"))
                .hint("nothing was written to it; run the command again"));
        }
        let dir = self.real.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(dir)?;
        let backup = match self.mode {
            Some(mode) => Some(self.keep(mode)?),
            None => None,
        };
        let name = self.real.file_name().unwrap_or_default().to_string_lossy();
        let temporary = dir.join(format!(".{name}.zonekeep-{}", std::process::id()));
        let written = put(&temporary, text, self.mode, usual)
            .and_then(|()| fs::rename(&temporary, &self.real))
            .and_then(|()| File::open(dir)?.sync_all());
        if let Err(error) = written {
            let _ = fs::remove_file(&temporary);
            return Err(error.into());
        }
        Ok(backup)
    }

    /// Keeps what the file holds under a name that is free.
    fn keep(&self, mode: u32) -> Result<PathBuf, Failure> {
        let name = self.real.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for number in 1..=MAX_BACKUPS {
            let number = if number == 1 { String::new() } else { format!(".{number}") };
            let path = self.real.with_file_name(format!("{name}.{BACKUP}{number}"));
            match put(&path, &self.text, Some(mode), mode) {
                Ok(()) => return Ok(path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Failure::message(UNSAFE, format!("there are {MAX_BACKUPS} backups of {name} already")))
    }
}

/// Writes a file that does not exist yet, with the permissions `mode`, or those
/// that are usual for the user.
fn put(path: &Path, text: &str, mode: Option<u32>, usual: u32) -> io::Result<()> {
    let first = mode.map_or(usual, |_| 0o600);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(first).open(path)?;
    file.write_all(text.as_bytes())?;
    if let Some(mode) = mode {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    file.sync_all()
}

/// Returns where a path really leads; the file and directories above need not
/// exist, but a link must lead somewhere.
fn real_path(path: &Path) -> Result<PathBuf, Failure> {
    let mut missing = Vec::new();
    let mut at = path;
    loop {
        match at.symlink_metadata() {
            Ok(_) => {
                let mut real = at.canonicalize().map_err(|error| {
                    let text = format!("{} leads nowhere: {error}", at.display());
                    Failure::message(UNSAFE, text)
                        .hint("nothing was written; repair the link first")
                })?;
                real.extend(missing.iter().rev());
                return Ok(real);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                return Err(Failure::message(UNSAFE, format!("{}: {error}", at.display())));
            }
        }
        let (Some(name), Some(parent)) = (at.file_name(), at.parent()) else {
            return Err(Failure::message(UNSAFE, format!("{} is no path", path.display())));
        };
        missing.push(name);
        at = parent;
    }
}

/// Reads a regular file of this user; `None` where there is none.
fn load(path: &Path) -> Result<Option<(String, u32)>, Failure> {
    let refuse = |why: &str| {
        Failure::message(UNSAFE, format!("{} {why}", path.display())).hint("nothing was written")
    };
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let file = OpenOptions::new().read(true).custom_flags(flags as i32).open(path);
    let mut file = match file {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refuse(&format!("cannot be read: {error}"))),
    };
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(refuse("is not a regular file"));
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(refuse("belongs to another user"));
    }
    if meta.len() > MAX_SIZE {
        return Err(refuse("is too large"));
    }
    let mut text = String::new();
    Read::take(&mut file, MAX_SIZE)
        .read_to_string(&mut text)
        .map_err(|error| refuse(&format!("cannot be read: {error}")))?;
    Ok(Some((text, meta.mode() & 0o7777)))
}
