//! `${…}`.

use super::dollar::Place;
use super::word::Piece;
use super::{Parsed, Parser};

impl Parser<'_> {
    /// Reads the rest of `${…}`, and returns whether it evaluates what a variable
    /// holds, or sets one.
    pub(super) fn parameter(&mut self, quoted: bool) -> Parsed<bool> {
        match self.peek() {
            Some(b'#') => self.length(),
            Some(b'!') => self.indirect(),
            Some(b'?' | b'-' | b'$') => {
                self.pos += 1;
                self.close()?;
                Ok(false)
            }
            Some(b'@' | b'*') => {
                self.pos += 1;
                self.operation(quoted)
            }
            Some(byte) if byte.is_ascii_digit() => {
                while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                    self.pos += 1;
                }
                self.operation(quoted)
            }
            _ => {
                if self.take_name().is_empty() {
                    return Err(self.unparsed("an unusual expansion"));
                }
                let mut evaluates = false;
                if self.peek() == Some(b'[') && !self.take_all() {
                    evaluates = self.subscript()?;
                }
                Ok(self.operation(quoted)? || evaluates)
            }
        }
    }

    fn close(&mut self) -> Parsed<()> {
        self.expect("}", "an expansion that is not understood")
    }

    /// Takes `[@]` or `[*]`.
    fn take_all(&mut self) -> bool {
        self.take("[@]") || self.take("[*]")
    }

    /// Reads `${#…}`.
    fn length(&mut self) -> Parsed<bool> {
        self.pos += 1;
        if !self.take("@") && !self.take("*") && !self.take_name().is_empty() {
            self.take_all();
        }
        self.close()?;
        Ok(false)
    }

    /// Reads `${!…}`.
    fn indirect(&mut self) -> Parsed<bool> {
        self.pos += 1;
        let named = !self.take_name().is_empty();
        if named && !self.take_all() && !self.take("@") {
            self.take("*");
        }
        self.close()?;
        Ok(named)
    }

    /// Reads what follows the name.
    fn operation(&mut self, quoted: bool) -> Parsed<bool> {
        match (self.peek(), self.peek_at(1)) {
            (Some(b'}'), _) => {
                self.pos += 1;
                Ok(false)
            }
            (Some(b':'), Some(b'-' | b'=' | b'?' | b'+')) => {
                self.pos += 1;
                self.operation(quoted)
            }
            (Some(b':'), _) => {
                self.pos += 1;
                self.offset()
            }
            (
                Some(b'@'),
                Some(b'Q' | b'E' | b'P' | b'A' | b'a' | b'U' | b'L' | b'u' | b'K' | b'k'),
            ) => {
                self.pos += 2;
                self.close()?;
                Ok(true)
            }
            (Some(sign @ (b'-' | b'=' | b'?' | b'+' | b'#' | b'%' | b'/' | b'^' | b',')), _) => {
                self.pos += 1;
                Ok(self.operand(quoted)? || sign == b'=')
            }
            _ => Err(self.unparsed("an expansion that is not understood")),
        }
    }

    /// Reads the offset and length of `${x:1:2}`.
    fn offset(&mut self) -> Parsed<bool> {
        let mut terms = super::arithmetic::Terms::default();
        loop {
            match self.peek() {
                Some(b'}') => {
                    self.pos += 1;
                    return Ok(terms.unknown);
                }
                Some(b'<' | b'>' | b'&' | b'|' | b'?') => {
                    return Err(self.unparsed("an unusual character in an expansion"));
                }
                Some(b' ') => self.pos += 1,
                _ => self.term(&mut terms)?,
            }
        }
    }

    /// Reads the default value or pattern.
    fn operand(&mut self, quoted: bool) -> Parsed<bool> {
        let place = if quoted { Place::QuotedParameter } else { Place::Parameter };
        let mut piece = Piece::default();
        loop {
            match self.peek() {
                None => return Err(self.unparsed("an expansion without its '}'")),
                Some(b'}') => {
                    self.pos += 1;
                    return Ok(piece.evaluates);
                }
                // Whether quotes count in quotes depends on the operation.
                Some(b'\'' | b'"') if quoted => {
                    return Err(self.unparsed("quotes in a quoted expansion"));
                }
                Some(b'\'') => self.single_quoted(&mut piece)?,
                Some(b'"') => {
                    self.pos += 1;
                    self.double_quoted(&mut piece)?;
                }
                Some(b'\\') if matches!(self.peek_at(1), None | Some(b'\n')) => {
                    return Err(self.unparsed("an escaped line end in an expansion"));
                }
                Some(b'\\') => {
                    self.pos += 1;
                    self.take_char();
                }
                Some(b'$') => self.dollar(place, &mut piece)?,
                Some(b'`') => self.backquote(true)?,
                Some(b'{' | b'\n') => {
                    return Err(self.unparsed("an unusual character in an expansion"));
                }
                Some(b'<' | b'>') if self.at_process() => {
                    return Err(self.unparsed("a process substitution in an expansion"));
                }
                Some(_) => {
                    self.take_char();
                }
            }
        }
    }
}
