//! Credentials in directories that the user grants: not looked for here.

use std::path::Path;

use zonekeep_policy::path::RelPath;
use zonekeep_policy::sensitive::Sensitive;

/// Finds nothing.
pub fn find(_dir: &Path, _sensitive: &Sensitive) -> Vec<RelPath> {
    Vec::new()
}
