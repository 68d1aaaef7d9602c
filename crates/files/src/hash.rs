//! The short name of a file's content.

use sha2::{Digest, Sha256};

/// Collects content and names it: the first 16 hex digits of its SHA-256.
#[derive(Debug, Clone, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the name of all that was added.
    pub fn finish(self) -> String {
        let digit = |four: u8| char::from(b"0123456789abcdef"[usize::from(four)]);
        let digest = self.0.finalize();
        digest.iter().take(8).flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
    }
}

/// Names a content.
pub fn hash(bytes: &[u8]) -> String {
    let mut hasher = Hasher::default();
    hasher.update(bytes);
    hasher.finish()
}

#[test]
fn the_name_is_the_start_of_the_digest() {
    assert_eq!(hash(b""), "e3b0c44298fc1c14");
    assert_eq!(hash(b"abc"), "ba7816bf8f01cfea");
}
