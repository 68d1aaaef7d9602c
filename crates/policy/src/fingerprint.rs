//! The identity of the content that a question showed.

use std::fmt;

/// A SHA-256 that stands for what was at a place when a question about it was put:
/// the kind of the entry, its content, and whether it can be executed.
///
/// A [`Permit`](crate::Permit) carries one for each place that the question showed,
/// and effects refuse a place where something else is found.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Wraps a digest.
    pub fn new(digest: [u8; 32]) -> Self {
        Fingerprint(digest)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}
