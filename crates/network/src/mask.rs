//! Keeps the values of secrets out of what is sent back.
//!
//! A server may repeat what it was sent: then the command that was not given the
//! value would read it in the answer. So where a value may have been sent, every
//! byte of content that comes back is searched for it, and it is written over by
//! its placeholder. Lengths stay as they are.
//!
//! Found are the value as it is, as it stands in JSON and in addresses, and as
//! base64. Not found is what the server compresses although it is asked not to,
//! encodes in another way, or sends a part of. Values of fewer than eight bytes
//! are not looked for at all.
//!
//! The last bytes are kept back until others follow, because a value may have
//! begun in them. How many, and how long, never depends on what the values are:
//! else a server that repeats a guess would show by a pause whether it is right.
//! But no value has a control character, in any form: what stands before one, as
//! before the end of a line, need not be kept.

use crate::secret::{Needles, Secret};

/// Writes over values in what flows by.
#[derive(Debug)]
pub(crate) struct Mask {
    values: Needles,
    /// What is written over each of them.
    covers: Vec<Vec<u8>>,
    /// The end of what has flowed by, at most one byte less than the longest value:
    /// as it came, and as it is passed on.
    tail: Vec<u8>,
    shown: Vec<u8>,
    /// How many bytes of the tail have been passed on.
    passed: usize,
}

impl Mask {
    pub(crate) fn new<'s>(secrets: impl Iterator<Item = &'s Secret>) -> Mask {
        let (mut values, mut covers) = (Vec::new(), Vec::new());
        for secret in secrets {
            for form in secret.value_forms() {
                let cover = secret.placeholder().bytes().chain(std::iter::repeat(b'-'));
                covers.push(cover.take(form.0.len()).collect());
                values.push(form);
            }
        }
        let values = Needles::new(values);
        Mask { values, covers, tail: Vec::new(), shown: Vec::new(), passed: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Takes the next bytes, and gives out all but the last.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.tail.extend_from_slice(bytes);
        self.shown.extend_from_slice(bytes);
        let mut from = 0;
        while let Some((at, which)) = self.values.find(&self.tail, from) {
            let cover = &self.covers[which];
            self.shown[at..at + cover.len()].copy_from_slice(cover);
            from = at + 1;
        }
        let most = self.tail.len().min(self.values.longest().saturating_sub(1));
        let last = self.tail[self.tail.len() - most..].iter();
        let kept = last.rev().take_while(|byte| !byte.is_ascii_control()).count();
        let gone = self.tail.len() - kept;
        let until = gone.max(self.passed);
        out.extend_from_slice(&self.shown[self.passed..until]);
        self.tail.drain(..gone);
        self.shown.drain(..gone);
        self.passed = until - gone;
    }

    /// Returns whether anything is kept back.
    pub(crate) fn keeps(&self) -> bool {
        self.passed < self.shown.len()
    }

    /// Gives out what is kept back. A value that goes on after it is still known
    /// for one, and the rest of it covered.
    pub(crate) fn release(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.shown[self.passed..]);
        self.passed = self.shown.len();
    }

    /// Gives out what is kept back: what comes next belongs to something else.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        self.release(out);
        self.tail.clear();
        self.shown.clear();
        self.passed = 0;
    }
}

#[cfg(test)]
#[path = "mask_tests.rs"]
mod tests;
