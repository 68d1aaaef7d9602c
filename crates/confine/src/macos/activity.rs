//! Whether commands run: nobody asks here, where nothing is watched.

use std::io;
use std::path::Path;

/// What a session tells of its commands.
#[derive(Debug)]
pub struct Activity {}

impl Activity {
    /// Has no use for the file.
    pub fn at(_path: &Path) -> io::Result<Self> {
        Ok(Activity {})
    }

    /// Says that commands run from now on that can write these directories.
    pub fn begin<'d>(&self, _writable: impl IntoIterator<Item = &'d Path>) -> io::Result<()> {
        Ok(())
    }

    /// Says that none runs any more.
    pub fn end(&self) {}
}
