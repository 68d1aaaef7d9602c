//! Signals have their usual effect here.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Signals that are held back and read instead: none.
#[derive(Debug)]
pub struct Signals(OwnedFd);

impl Signals {
    /// Fails: this system has no descriptor to read them from.
    pub fn hold(_numbers: &[i32]) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns nothing.
    pub fn next(&self) -> Option<i32> {
        None
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
