//! The readers of HTTP, for the fuzz targets. Not part of the interface.

use crate::http::{Body, Framing, Head, Part, end};

/// Reads the head of a request; returns what is sent on and how many bytes it
/// took, or `None` where it is refused or not whole.
pub fn request(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let end = end(bytes, 0).ok()??;
    let head = Head::parse(&bytes[..end]).ok()?;
    Some((head.write().ok()?, end))
}

/// Reads a body in chunks that comes in two pieces; returns its content and how
/// many bytes it took, or `None` where it is refused or not whole.
pub fn chunked(bytes: &[u8], piece: usize) -> Option<(Vec<u8>, usize)> {
    let mut body = Body::new(Framing::Chunked);
    let mut content = Vec::new();
    let mut used = 0;
    for end in [piece.min(bytes.len()), bytes.len()] {
        loop {
            match body.step(&bytes[used..end]).ok()? {
                Part::End => return Some((content, used)),
                Part::More => break,
                Part::Frame(count) => used += count,
                Part::Content(count) => {
                    content.extend_from_slice(&bytes[used..used + count]);
                    used += count;
                }
            }
        }
    }
    None
}
