//! Cutting a page of lines out of a stream of bytes, in little memory.

use crate::text::{Encoding, unit};

/// Keeps the bytes of the wanted lines and counts all others.
#[derive(Debug)]
pub(crate) struct Pager {
    first: u64,
    end: u64,
    cap: usize,
    /// The line that the next byte belongs to.
    line: u64,
    lf: u64,
    crlf: u64,
    last: Option<u8>,
    /// The bytes of the page, at most `cap`.
    pub(crate) kept: Vec<u8>,
    /// Whether the page has more bytes than were kept.
    pub(crate) capped: bool,
    /// Whether bytes came after the page.
    pub(crate) after: bool,
}

impl Pager {
    /// Wants `limit` lines from line `first` on, and at most `cap` bytes of them.
    pub(crate) fn new(first: u64, limit: u64, cap: usize) -> Self {
        Pager {
            first,
            end: first.saturating_add(limit),
            cap,
            line: 1,
            lf: 0,
            crlf: 0,
            last: None,
            kept: Vec::new(),
            capped: false,
            after: false,
        }
    }

    /// Takes the next bytes.
    pub(crate) fn feed(&mut self, chunk: &[u8]) {
        if chunk.is_empty() {
            return;
        }
        let mut from = if self.line >= self.first { 0 } else { chunk.len() };
        let mut to = if self.line >= self.end { 0 } else { chunk.len() };
        let ended = memchr::memchr_iter(b'\n', chunk).count() as u64;
        let starts_here = |line: u64| self.line < line && line <= self.line + ended;
        let has_cr = self.last == Some(b'\r') || memchr::memchr(b'\r', chunk).is_some();
        if !has_cr && !starts_here(self.first) && !starts_here(self.end) {
            // The page neither starts nor ends here: counting is enough.
            self.lf += ended;
            self.line += ended;
            return self.take(chunk, from, to);
        }
        for at in memchr::memchr_iter(b'\n', chunk) {
            let before = if at > 0 { Some(chunk[at - 1]) } else { self.last };
            self.lf += 1;
            self.crlf += u64::from(before == Some(b'\r'));
            self.line += 1;
            if self.line == self.first {
                from = at + 1;
            }
            if self.line == self.end {
                to = at + 1;
            }
        }
        self.take(chunk, from, to);
    }

    /// Keeps the part of a chunk that belongs to the page.
    fn take(&mut self, chunk: &[u8], from: usize, to: usize) {
        self.last = chunk.last().copied();
        self.after |= to < chunk.len();
        if from < to {
            let room = self.cap - self.kept.len();
            let taken = room.min(to - from);
            self.kept.extend_from_slice(&chunk[from..from + taken]);
            self.capped |= taken < to - from;
        }
    }

    /// Returns whether the page is complete.
    pub(crate) fn is_done(&self) -> bool {
        self.line >= self.end || self.capped
    }

    /// Returns how many lines there were; one that nothing ends counts.
    pub(crate) fn lines(&self) -> u64 {
        self.lf + u64::from(self.last.is_some_and(|last| last != b'\n'))
    }

    /// Returns how many lines end at all, and how many with CRLF.
    pub(crate) fn endings(&self) -> (u64, u64) {
        (self.lf, self.crlf)
    }
}

/// Tells whether a stream is UTF-8.
#[derive(Debug, Default)]
pub(crate) struct Utf8Check {
    carried: Vec<u8>,
    broken: bool,
}

impl Utf8Check {
    /// Takes the next bytes.
    pub(crate) fn feed(&mut self, mut chunk: &[u8]) {
        while !self.broken && !self.carried.is_empty() {
            // The last chunk ended inside a character.
            let Some((&first, rest)) = chunk.split_first() else { return };
            self.carried.push(first);
            chunk = rest;
            match std::str::from_utf8(&self.carried) {
                Ok(_) => self.carried.clear(),
                Err(error) => self.broken = error.error_len().is_some(),
            }
        }
        if !self.broken
            && let Err(error) = std::str::from_utf8(chunk)
        {
            match error.error_len() {
                Some(_) => self.broken = true,
                None => self.carried.extend_from_slice(&chunk[error.valid_up_to()..]),
            }
        }
    }

    /// Returns whether nothing was wrong; `whole` when the stream is at its end.
    pub(crate) fn is_valid(&self, whole: bool) -> bool {
        !self.broken && (!whole || self.carried.is_empty())
    }
}

/// Turns a stream of UTF-16 into UTF-8; half pairs become U+FFFD.
#[derive(Debug)]
pub(crate) struct Utf16 {
    encoding: Encoding,
    odd: Option<u8>,
    high: Option<u16>,
}

impl Utf16 {
    pub(crate) fn new(encoding: Encoding) -> Self {
        Utf16 { encoding, odd: None, high: None }
    }

    /// Takes the next bytes; returns the text they complete.
    pub(crate) fn feed(&mut self, chunk: &[u8]) -> String {
        let bytes = self.odd.take().into_iter().chain(chunk.iter().copied());
        let mut units = Vec::with_capacity(chunk.len() / 2 + 2);
        units.extend(self.high.take());
        let mut half = None;
        for byte in bytes {
            match half.take() {
                None => half = Some(byte),
                Some(first) => units.push(unit(self.encoding, [first, byte])),
            }
        }
        self.odd = half;
        self.high = units.pop_if(|last| (0xD800..0xDC00).contains(last));
        lossy(units)
    }

    /// Returns what is left over at the end.
    pub(crate) fn finish(&mut self) -> String {
        let mut rest = lossy(self.high.take().into_iter().collect());
        if self.odd.take().is_some() {
            rest.push(char::REPLACEMENT_CHARACTER);
        }
        rest
    }
}

fn lossy(units: Vec<u16>) -> String {
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chunks(bytes: &[u8], size: usize) -> impl Iterator<Item = &[u8]> {
        bytes.chunks(size.max(1))
    }

    proptest! {
        #[test]
        fn a_page_is_the_same_however_the_bytes_arrive(
            text in "[ab\r\n]{0,60}", first in 1u64..8, limit in 1u64..5, size in 1usize..9,
        ) {
            let mut pager = Pager::new(first, limit, 1000);
            chunks(text.as_bytes(), size).for_each(|chunk| pager.feed(chunk));
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let start = lines.len().min(first as usize - 1);
            let end = lines.len().min(start + limit as usize);
            prop_assert_eq!(&pager.kept, &lines[start..end].concat().into_bytes());
            prop_assert_eq!(pager.lines(), lines.len() as u64);
            prop_assert_eq!(pager.after, end < lines.len());
            let crlf = lines.iter().filter(|line| line.ends_with("\r\n")).count() as u64;
            prop_assert_eq!(pager.endings(), (text.matches('\n').count() as u64, crlf));
        }

        #[test]
        fn utf8_is_told_however_the_bytes_arrive(bytes in any::<Vec<u8>>(), text in ".{0,20}", size in 1usize..6) {
            for bytes in [bytes.as_slice(), text.as_bytes()] {
                let mut check = Utf8Check::default();
                chunks(bytes, size).for_each(|chunk| check.feed(chunk));
                prop_assert_eq!(check.is_valid(true), std::str::from_utf8(bytes).is_ok());
            }
        }

        #[test]
        fn utf16_is_read_however_the_bytes_arrive(text in ".{0,20}", size in 1usize..6) {
            let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
            let mut decoder = Utf16::new(Encoding::Utf16Be);
            let mut got = String::new();
            chunks(&bytes, size).for_each(|chunk| got.push_str(&decoder.feed(chunk)));
            got.push_str(&decoder.finish());
            prop_assert_eq!(got, text);
        }
    }
}
