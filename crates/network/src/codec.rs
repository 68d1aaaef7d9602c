//! What the readers of the wire formats have in common.
//!
//! Each of them is a pure function over the bytes that have come so far. It is
//! called again, from the start, when more have come.

/// What a reader says about the bytes it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<T> {
    /// Fine so far, but not whole.
    More,
    /// What was read, and how many bytes it took.
    Done(T, usize),
    /// No bytes that follow can make it right; why, in words without the input.
    Bad(&'static str),
}

/// Bytes that are taken from the front; nothing is taken where there are too few.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    pub(crate) fn pair(&mut self) -> Option<u16> {
        let (&pair, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u16::from_be_bytes(pair))
    }

    /// Takes a length of one byte and as many bytes.
    pub(crate) fn short(&mut self) -> Option<Bytes<'a>> {
        let mut ahead = *self;
        let count = ahead.byte()?;
        let taken = ahead.take(count.into())?;
        *self = ahead;
        Some(Bytes(taken))
    }

    /// Takes a length of two bytes and as many bytes.
    pub(crate) fn long(&mut self) -> Option<Bytes<'a>> {
        let mut ahead = *self;
        let count = ahead.pair()?;
        let taken = ahead.take(count.into())?;
        *self = ahead;
        Some(Bytes(taken))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Returns a name as text where it is plain visible ASCII, without blanks.
///
/// Whether it is a host name is for the policy to say; what cannot be one, and
/// could hide in a log or end a line early, stops here.
pub(crate) fn visible(name: &[u8]) -> Option<String> {
    let plain = !name.is_empty() && name.iter().all(u8::is_ascii_graphic);
    plain.then(|| name.iter().map(|&byte| char::from(byte)).collect())
}
