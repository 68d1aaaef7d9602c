//! Where Zonekeep keeps what outlives a run: the audit log and the list of
//! trusted project files. Never inside a zone.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

/// The user's state directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDir(PathBuf);

impl StateDir {
    /// Returns `$XDG_STATE_HOME/zonekeep`, or `~/.local/state/zonekeep`.
    ///
    /// Fails where the home is a relative path: it would be another directory for
    /// each place that the program is started from, and could lie in a zone.
    pub fn of_user() -> io::Result<Self> {
        let base = etcetera::base_strategy::Xdg::new()
            .map_err(|error| io::Error::new(io::ErrorKind::NotFound, error))?;
        let state = base.state_dir().unwrap_or_else(|| base.home_dir().join(".local/state"));
        if !state.is_absolute() {
            let home = base.home_dir().display();
            let why = format!("HOME must be an absolute path, and it is '{home}'");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        Ok(StateDir(state.join("zonekeep")))
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
        let mode = fs::metadata(&self.0)?.permissions().mode();
        if mode & 0o077 != 0 {
            fs::set_permissions(&self.0, fs::Permissions::from_mode(0o700))?;
        }
        Ok(path)
    }
}
