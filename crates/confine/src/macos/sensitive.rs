//! Credentials and sockets in directories that the user grants: not looked for here.

use std::path::Path;

use zonekeep_policy::path::RelPath;
use zonekeep_policy::sensitive::Sensitive;

use crate::plan::Access;

/// How much of a directory is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Every directory below.
    All,
    /// Its own entries.
    Top,
}

/// The entries of a granted directory that are hidden.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// Credentials.
    pub credentials: Vec<RelPath>,
    /// Sockets and named pipes.
    pub doors: Vec<RelPath>,
}

/// Finds nothing.
pub fn find(_dir: &Path, _access: Access, _sensitive: &Sensitive, _depth: Depth) -> Found {
    Found::default()
}
