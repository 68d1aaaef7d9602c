//! Signals as something to wait for, beside everything else that is waited for.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::sys;

/// Makes a write past `ulimit -f` fail, instead of ending this program by SIGXFSZ. Commands in
/// sandboxes have the usual effect.
pub fn ignore_file_size() {
    sys::ignore_file_size_signal();
}

/// Signals that are held back and read instead.
#[derive(Debug)]
pub struct Signals(OwnedFd);

impl Signals {
    /// Holds these signals back, in this thread and in those it starts from now
    /// on: for a program with a single thread.
    pub fn hold(numbers: &[i32]) -> io::Result<Self> {
        Ok(Signals(sys::hold_signals(numbers)?))
    }

    /// Returns the next signal that came, if any.
    pub fn next(&self) -> Option<i32> {
        let mut info = [0; 128];
        match rustix::io::read(&self.0, &mut info) {
            // The number is the first field.
            Ok(128) => Some(i32::from_ne_bytes([info[0], info[1], info[2], info[3]])),
            _ => None,
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
