//! Files that have other names outside writable zones: not looked for here.

use std::io;
use std::path::{Path, PathBuf};

use zonekeep_policy::path::RelPath;

use crate::plan::Plan;

/// Shared files, for people: how many there are, and the names of some.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shared {
    /// How many names there are.
    pub count: usize,
    /// Some of them, escaped, as commands see them.
    pub named: Vec<String>,
}

impl Shared {
    /// Returns the names as a list, which says how many more there are.
    pub fn list(&self) -> String {
        self.named.join(", ")
    }
}

/// The shared files of all writable zones of a plan.
#[derive(Debug, Default)]
pub struct HardLinks(());

impl HardLinks {
    /// Finds none.
    pub fn find(_plan: &Plan) -> Result<Self, (PathBuf, io::Error)> {
        Ok(HardLinks::default())
    }

    /// Finds none.
    pub fn find_in<'z>(
        _zones: impl IntoIterator<Item = (&'z Path, &'z Path)>,
        _allow: &[String],
    ) -> Result<Self, (PathBuf, io::Error)> {
        Ok(HardLinks::default())
    }

    /// Returns none.
    pub fn shared(&self) -> Shared {
        Shared::default()
    }
}

/// Returns no names.
pub fn names_in(_dir: &Path, _device: u64, _inode: u64) -> io::Result<Vec<RelPath>> {
    Ok(Vec::new())
}
