//! Where Zonekeep keeps what outlives a run: the audit log and the list of
//! trusted project files. Never inside a zone.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use rustix::fs::OFlags;
use rustix::process::geteuid;

/// The user's state directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDir(PathBuf);

impl StateDir {
    /// Returns `$XDG_STATE_HOME/zonekeep`, or `~/.local/state/zonekeep`.
    ///
    /// Fails where the home is a relative path: it would be another directory for
    /// each place that the program is started from, and could lie in a zone. Fails
    /// also where the directory belongs to another user, who could have written there
    /// that a project file is trusted.
    pub fn of_user() -> io::Result<Self> {
        let base = etcetera::base_strategy::Xdg::new()
            .map_err(|error| io::Error::new(io::ErrorKind::NotFound, error))?;
        let state = base.state_dir().unwrap_or_else(|| base.home_dir().join(".local/state"));
        if !state.is_absolute() {
            let home = base.home_dir().display();
            let why = format!("HOME must be an absolute path, and it is '{home}'");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let state = StateDir(state.join("zonekeep"));
        // What cannot be looked at fails where it is used, with what it was used for.
        if let Ok(facts) = fs::metadata(&state.0) {
            check_owner(&state.0, &facts)?;
        }
        Ok(state)
    }

    /// Returns the state directory at `path`.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        StateDir(path.into())
    }

    /// Returns the path, which may not exist yet.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Makes a directory below it that only the user can enter.
    pub fn make(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.0.join(name);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        let facts = fs::metadata(&self.0)?;
        check_owner(&self.0, &facts)?;
        // A link below it could lead into a zone, where agents would write their own records.
        if fs::symlink_metadata(&path)?.is_symlink() {
            let why = format!(
                "{} is a link; set XDG_STATE_HOME to move the whole state directory",
                path.display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        if facts.mode() & 0o077 != 0 {
            fs::set_permissions(&self.0, fs::Permissions::from_mode(0o700))?;
        }
        Ok(path)
    }

    /// Opens a file in it, for reading or as `options` say, that decides about
    /// something: neither it nor the directory may be another user's, or one that
    /// another user can write.
    pub(crate) fn open_own(
        &self,
        name: impl AsRef<Path>,
        options: &mut OpenOptions,
    ) -> io::Result<File> {
        let path = self.0.join(name);
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = options.custom_flags(flags.bits().cast_signed()).open(&path)?;
        for (path, facts) in [(&self.0, fs::metadata(&self.0)?), (&path, file.metadata()?)] {
            check_owner(path, &facts)?;
            if facts.mode() & 0o022 != 0 {
                let why = format!("{} can be written by other users", path.display());
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
            }
        }
        if !file.metadata()?.is_file() {
            let why = format!("{} is not a file", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        Ok(file)
    }
}

/// Refuses what belongs to another user. The superuser's own is nobody's forgery.
fn check_owner(path: &Path, facts: &fs::Metadata) -> io::Result<()> {
    if [0, geteuid().as_raw()].contains(&facts.uid()) {
        return Ok(());
    }
    let why = format!(
        "{} belongs to another user (uid {}); set XDG_STATE_HOME to a directory of yours",
        path.display(),
        facts.uid()
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_others_could_have_written_is_not_read() {
        let temp = tempfile::tempdir().unwrap();
        let state = StateDir::at(temp.path().join("zonekeep"));
        state.make("").unwrap();
        let path = state.path().join("trusted");
        fs::write(&path, "line\n").unwrap();
        let read = || state.open_own("trusted", OpenOptions::new().read(true)).map(|_| ());
        let chmod = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        chmod(&path, 0o600);
        read().unwrap();
        for (at, open, usual) in [(&path, 0o620, 0o600), (&path, 0o602, 0o600)] {
            chmod(at, open);
            assert!(read().unwrap_err().to_string().contains("written by other users"));
            chmod(at, usual);
        }
        chmod(state.path(), 0o770);
        assert!(read().unwrap_err().to_string().contains("written by other users"));
        chmod(state.path(), 0o700);
        read().unwrap();
        if geteuid().is_root() {
            let other = |path: &Path, uid| std::os::unix::fs::chown(path, Some(uid), None).unwrap();
            for at in [&path, state.path()] {
                other(at, 65534);
                let error = read().unwrap_err().to_string();
                assert!(error.contains("belongs to another user (uid 65534)"), "{error}");
                other(at, 0);
            }
            other(state.path(), 65534);
            assert!(state.make("audit").unwrap_err().to_string().contains("another user"));
        }
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", &path).unwrap();
        assert!(read().is_err(), "a link is not followed");
    }

    #[test]
    fn a_directory_below_that_is_a_link_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let state = StateDir::at(temp.path().join("zonekeep"));
        state.make("").unwrap();
        std::os::unix::fs::symlink(temp.path(), state.path().join("audit")).unwrap();
        let error = state.make("audit").unwrap_err().to_string();
        assert!(error.contains("audit is a link"), "{error}");
        state.make("quarantine").unwrap();
    }
}
