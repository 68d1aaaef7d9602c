//! Arithmetic: `(( ))`, `$(( ))`, the head of `for (( ))`, and subscripts.
//!
//! What is evaluated is not understood here, only where it ends and what is
//! substituted in it. It counts as known only if it is made of numbers: the value
//! of a variable is evaluated in turn, and may hold a substitution.

use super::list::Ended;
use super::word::Piece;
use super::{Parsed, Parser, Word};

/// What arithmetic is made of.
#[derive(Clone, Copy, Default)]
pub(super) struct Terms {
    /// Whether there is more than numbers and operators.
    pub(super) unknown: bool,
    semicolons: usize,
}

impl Parser<'_> {
    /// Reads `(( … ))` as a command.
    pub(super) fn arithmetic_command(&mut self) -> Parsed<Ended> {
        let first = self.drafts.len();
        let start = self.pos;
        let semicolons = self.arithmetic_draft()?;
        if semicolons > 0 {
            return Err(self.unparsed("';' in arithmetic"));
        }
        self.redirects_of(first, start)?;
        Ok(Ended::Word)
    }

    /// Reads the `(( … ))` of a loop.
    pub(super) fn arithmetic_head(&mut self) -> Parsed<()> {
        if self.arithmetic_draft()? == 2 {
            return Ok(());
        }
        Err(self.unparsed("a loop that does not have three expressions"))
    }

    /// Reads `(( … ))`, lists it, and returns the number of semicolons.
    fn arithmetic_draft(&mut self) -> Parsed<usize> {
        let start = self.pos;
        let number = self.draft(start);
        self.pos += 2;
        let terms = self.arithmetic()?;
        let raw = self.text[start + 2..self.pos - 2].to_owned();
        let word = if terms.unknown { Word::Unknown { raw } } else { Word::Known(raw) };
        self.drafts[number].words = vec![Word::Known("((".to_owned()), word];
        self.drafts[number].span = start..self.pos;
        Ok(terms.semicolons)
    }

    /// Reads arithmetic up to and with `))`.
    ///
    /// Where the two do not stand together bash takes all of it for subshells,
    /// and whether it does can hang on quotes: none of that is followed.
    pub(super) fn arithmetic(&mut self) -> Parsed<Terms> {
        let mut terms = Terms::default();
        let mut open = 0_usize;
        loop {
            match self.peek() {
                Some(b'(') => open += 1,
                Some(b')') if open > 0 => open -= 1,
                Some(b')') => {
                    self.expect("))", "arithmetic that ends in a single ')'")?;
                    return Ok(terms);
                }
                Some(b'<' | b'>') if self.peek_at(1) == Some(b'(') => {
                    return Err(self.unparsed("a substitution in arithmetic"));
                }
                Some(b';') => terms.semicolons += 1,
                Some(b'\n') if !self.awaited.is_empty() => {
                    return Err(self.unparsed("a line end before a here-document"));
                }
                Some(b' ' | b'\t' | b'\n' | b'[' | b']' | b'#') => {}
                _ => {
                    self.term(&mut terms)?;
                    continue;
                }
            }
            self.pos += 1;
        }
    }

    /// Reads one character, or one expansion, that no arithmetic ends with.
    pub(super) fn term(&mut self, terms: &mut Terms) -> Parsed<()> {
        match self.peek() {
            Some(b'$') => {
                let mut piece = Piece::default();
                self.dollar(super::dollar::Place::Arithmetic, &mut piece)?;
                terms.unknown = true;
            }
            Some(b'`') => {
                self.backquote(true)?;
                terms.unknown = true;
            }
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => {
                self.pos += 1;
                terms.unknown = true;
            }
            Some(byte) if byte.is_ascii_digit() || b"+-*/%<>=!&|^~?:,".contains(&byte) => {
                self.pos += 1;
            }
            Some(_) => return Err(self.unparsed("an unusual character in arithmetic")),
            None => return Err(self.unparsed("arithmetic without its end")),
        }
        Ok(())
    }

    /// Reads `[ … ]`, and returns whether it holds more than numbers.
    pub(super) fn subscript(&mut self) -> Parsed<bool> {
        self.expect("[", "a subscript is missing")?;
        let mut terms = Terms::default();
        loop {
            match self.peek() {
                Some(b']') if self.text[..self.pos].ends_with('[') => {
                    return Err(self.unparsed("an empty subscript"));
                }
                Some(b']') => {
                    self.pos += 1;
                    return Ok(terms.unknown);
                }
                // They would end the word if this were no subscript after all.
                Some(b'<' | b'>' | b'&' | b'|') => {
                    return Err(self.unparsed("an unusual character in a subscript"));
                }
                Some(b'@') => {
                    self.pos += 1;
                    terms.unknown = true;
                }
                _ => self.term(&mut terms)?,
            }
        }
    }
}
