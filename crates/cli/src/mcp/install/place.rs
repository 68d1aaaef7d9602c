//! Where the settings of a client lie.

use std::path::{Path, PathBuf};

use crate::failure::{Failure, UNSAFE};

/// A directory that paths begin at.
#[derive(Clone, Copy)]
pub(super) enum Base {
    /// The project's directory.
    Project,
    /// The user's home directory.
    Home,
    /// `~/.config`, or what `XDG_CONFIG_HOME` says.
    Config,
    /// The same on Linux; `~/Library/Application Support` on macOS.
    Apps,
}

/// A file, given by where it lies.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// A variable that stands for the directory (or, if it ends in `_FILE`, the file).
    variable: Option<&'static str>,
    base: Base,
    dir: &'static str,
    file: &'static str,
    /// Used instead where it exists and the other does not.
    other: Option<&'static str>,
}

impl Place {
    pub(super) const fn new(base: Base, file: &'static str) -> Self {
        Place { variable: None, base, dir: "", file, other: None }
    }

    /// Returns a file in a directory that a variable can move.
    pub(super) const fn moved(
        variable: &'static str,
        base: Base,
        dir: &'static str,
        file: &'static str,
    ) -> Self {
        Place { variable: Some(variable), base, dir, file, other: None }
    }

    /// Returns a file that may have another name too.
    pub(super) const fn either(base: Base, file: &'static str, other: &'static str) -> Self {
        Place { variable: None, base, dir: "", file, other: Some(other) }
    }

    /// Returns the path; variables and the home directory are those of the user.
    pub(super) fn path(&self, project: &Path) -> Result<PathBuf, Failure> {
        let moved = self.variable.and_then(|variable| Some((variable, absolute(variable)?)));
        if let Some((variable, path)) = moved {
            return Ok(if variable.ends_with("_FILE") { path } else { path.join(self.file) });
        }
        let dir = self.base.path(project)?.join(self.dir);
        let path = dir.join(self.file);
        let other = self.other.map(|other| dir.join(other));
        let exists = |path: &Path| path.symlink_metadata().is_ok();
        Ok(other.filter(|other| !exists(&path) && exists(other)).unwrap_or(path))
    }

    /// Returns whether it lies in the project.
    pub(super) fn is_in_project(&self) -> bool {
        matches!(self.base, Base::Project)
    }
}

impl Base {
    fn path(self, project: &Path) -> Result<PathBuf, Failure> {
        let home = || {
            absolute("HOME").ok_or_else(|| {
                Failure::message(UNSAFE, "HOME does not say where your home directory is")
            })
        };
        Ok(match self {
            Base::Project => project.to_owned(),
            Base::Home => home()?,
            Base::Apps if cfg!(target_os = "macos") => home()?.join("Library/Application Support"),
            Base::Config | Base::Apps => match absolute("XDG_CONFIG_HOME") {
                Some(dir) => dir,
                None => home()?.join(".config"),
            },
        })
    }
}

/// Returns the absolute path that a variable holds.
fn absolute(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
