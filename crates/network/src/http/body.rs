//! The body of a request: where it ends, decided here.

use super::head::Framing;
use crate::event::Refusal;

/// The longest line that says a chunk's size.
const LINE: usize = 1024;

/// What the front of the bytes of a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// More bytes are needed to tell.
    More,
    /// That many bytes are framing, and are left out.
    Frame(usize),
    /// That many bytes are content.
    Content(usize),
    /// The body is over.
    End,
}

/// A body on its way: takes it apart into framing and content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Body {
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// That many bytes are still to come.
    Length(u64),
    /// The size of a chunk comes next.
    Size,
    /// That many bytes of a chunk are still to come.
    Chunk(u64),
    /// The line end after a chunk comes next.
    AfterChunk,
    /// The empty line after the last chunk comes next.
    Trailer,
    Over,
}

impl Body {
    pub(crate) fn new(framing: Framing) -> Body {
        let state = match framing {
            Framing::None | Framing::Length(0) => State::Over,
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::Size,
        };
        Body { state }
    }

    /// Returns whether the last chunk is over, and only its trailer is missing.
    pub(crate) fn is_before_trailer(&self) -> bool {
        self.state == State::Trailer
    }

    /// Says what the front of `bytes` is, and goes on behind it.
    pub(crate) fn step(&mut self, bytes: &[u8]) -> Result<Part, Refusal> {
        match self.state {
            State::Over => Ok(Part::End),
            _ if bytes.is_empty() => Ok(Part::More),
            State::Length(left) => {
                let (count, left) = split(bytes, left);
                self.state = if left == 0 { State::Over } else { State::Length(left) };
                Ok(Part::Content(count))
            }
            State::Chunk(left) => {
                let (count, left) = split(bytes, left);
                self.state = if left == 0 { State::AfterChunk } else { State::Chunk(left) };
                Ok(Part::Content(count))
            }
            State::Size => self.size(bytes),
            State::AfterChunk => self.blank(bytes, State::Size, "a chunk is longer than it says"),
            State::Trailer => {
                self.blank(bytes, State::Over, "headers after the body are not passed on")
            }
        }
    }

    /// Reads a line with the size of a chunk; what follows the size is dropped.
    fn size(&mut self, bytes: &[u8]) -> Result<Part, Refusal> {
        let bad = || Refusal::protocol("the size of a chunk is not a plain number");
        let line = &bytes[..bytes.len().min(LINE)];
        let Some(end) = line.iter().position(|byte| matches!(byte, b'\r' | b'\n')) else {
            let whole = bytes.len() >= LINE;
            return if whole { Err(bad()) } else { Ok(Part::More) };
        };
        match &bytes[end..] {
            [b'\r', b'\n', ..] => {}
            [b'\r'] => return Ok(Part::More),
            _ => return Err(bad()),
        }
        let digits = line[..end].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let (size, extension) = line[..end].split_at(digits);
        let plain = |byte: &u8| matches!(byte, b'\t' | 0x20..=0x7e);
        let dropped = extension.is_empty() || extension[0] == b';';
        if !(1..=15).contains(&digits) || !dropped || !extension.iter().all(plain) {
            return Err(bad());
        }
        let size = std::str::from_utf8(size).map_err(|_| bad())?;
        self.state = match u64::from_str_radix(size, 16).map_err(|_| bad())? {
            0 => State::Trailer,
            size => State::Chunk(size),
        };
        Ok(Part::Frame(end + 2))
    }

    fn blank(&mut self, bytes: &[u8], next: State, otherwise: &str) -> Result<Part, Refusal> {
        match bytes {
            [b'\r', b'\n', ..] => {
                self.state = next;
                Ok(Part::Frame(2))
            }
            [b'\r'] => Ok(Part::More),
            _ => Err(Refusal::protocol(otherwise)),
        }
    }
}

/// Returns how many of `left` bytes are there, and how many are missing.
fn split(bytes: &[u8], left: u64) -> (usize, u64) {
    let count = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
    (count, left - count as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body's content, and what follows it; `None` where it is not whole.
    type Read<'b> = Option<(Vec<u8>, &'b [u8])>;

    fn read(framing: Framing, mut bytes: &[u8]) -> Result<Read<'_>, Refusal> {
        let mut body = Body::new(framing);
        let mut content = Vec::new();
        loop {
            match body.step(bytes)? {
                Part::End => return Ok(Some((content, bytes))),
                Part::More => return Ok(None),
                Part::Frame(count) => bytes = &bytes[count..],
                Part::Content(count) => {
                    content.extend_from_slice(&bytes[..count]);
                    bytes = &bytes[count..];
                }
            }
        }
    }

    #[test]
    fn a_body_ends_where_its_head_says() {
        let cases: [(Framing, &str, &str, &str); 7] = [
            (Framing::None, "GET /", "", "GET /"),
            (Framing::Length(0), "GET /", "", "GET /"),
            (Framing::Length(3), "abcGET /", "abc", "GET /"),
            (Framing::Chunked, "0\r\n\r\nGET /", "", "GET /"),
            (Framing::Chunked, "3\r\nabc\r\n0\r\n\r\nGET /", "abc", "GET /"),
            (Framing::Chunked, "3;x=\"y\"\r\nabc\r\n00;z\r\n\r\n", "abc", ""),
            (
                Framing::Chunked,
                "003\r\nabc\r\nA\r\n0\r\n\r\n01234\r\n0\r\n\r\n",
                "abc0\r\n\r\n01234",
                "",
            ),
        ];
        for (framing, bytes, content, rest) in cases {
            let got = read(framing, bytes.as_bytes()).unwrap().unwrap();
            assert_eq!(got, (content.as_bytes().to_vec(), rest.as_bytes()), "{bytes:?}");
        }
    }

    #[test]
    fn chunks_that_could_be_read_in_two_ways_are_refused() {
        let control = "3\r\nabc\r\n0\r\n\r\n";
        assert!(read(Framing::Chunked, control.as_bytes()).unwrap().is_some());
        let cases = [
            "3\nabc\n0\n\n",
            "3\r\nabc\n0\r\n\r\n",
            "3\r\nabcd\r\n0\r\n\r\n",
            "3\r\nabc0\r\n\r\n",
            "3 \r\nabc\r\n0\r\n\r\n",
            " 3\r\nabc\r\n0\r\n\r\n",
            "3 ;x\r\nabc\r\n0\r\n\r\n",
            "0x3\r\nabc\r\n0\r\n\r\n",
            "+3\r\nabc\r\n0\r\n\r\n",
            "-1\r\nabc\r\n0\r\n\r\n",
            "\r\nabc\r\n0\r\n\r\n",
            ";x\r\nabc\r\n0\r\n\r\n",
            "3;\rx\r\nabc\r\n0\r\n\r\n",
            "3;\nx\r\nabc\r\n0\r\n\r\n",
            "3;\0\r\nabc\r\n0\r\n\r\n",
            "3\rX\r\nabc\r\n0\r\n\r\n",
            "10000000000000003\r\nabc\r\n0\r\n\r\n",
            "0\r\nHost: b.org\r\n\r\n",
            "0\r\n \r\n\r\n",
            "0\r\n\n",
            "0\r\n\rX",
        ];
        for bytes in cases {
            assert!(read(Framing::Chunked, bytes.as_bytes()).is_err(), "{bytes:?}");
        }
        let long = format!("3;{}\r\n", "x".repeat(LINE));
        assert!(read(Framing::Chunked, long.as_bytes()).is_err());
    }

    #[test]
    fn a_body_may_come_in_pieces() {
        let bytes = b"3;x\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
        let (mut body, mut content, mut held) = (Body::new(Framing::Chunked), vec![], vec![]);
        for &byte in bytes {
            held.push(byte);
            loop {
                match body.step(&held).unwrap() {
                    Part::More | Part::End => break,
                    Part::Frame(count) => drop(held.drain(..count)),
                    Part::Content(count) => content.extend(held.drain(..count)),
                }
            }
        }
        assert_eq!((content.as_slice(), held.as_slice()), (&b"abcde"[..], &b""[..]));
        assert_eq!(body.step(b"GET").unwrap(), Part::End);
    }
}
