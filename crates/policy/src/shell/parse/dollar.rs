//! What begins with a `$`, backquotes, and process substitution.

use std::mem;
use std::ops::Range;

use super::word::Piece;
use super::{Parsed, Parser, Within};

/// Where an expansion stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In a word, outside of quotes.
    Bare,
    /// In double quotes.
    Quoted,
    /// In the text of a here-document.
    Document,
    /// In `${…}`, outside of quotes.
    Parameter,
    /// In `${…}` that is itself in quotes or a here-document.
    QuotedParameter,
    /// In arithmetic.
    Arithmetic,
}

impl Parser<'_> {
    /// Reads what begins with the `$` that comes next.
    pub(super) fn dollar(&mut self, place: Place, piece: &mut Piece) -> Parsed<()> {
        let special = |byte: u8| byte.is_ascii_alphanumeric() || b"_@*#?-$!".contains(&byte);
        match self.peek_at(1) {
            Some(b'(') if self.peek_at(2) == Some(b'(') => {
                self.pos += 3;
                let terms = self.deeper(Self::arithmetic)?;
                piece.evaluates |= terms.unknown;
                piece.substitutes = true;
            }
            Some(b'(') => {
                self.pos += 2;
                self.substitution(Within::Substitution)?;
                piece.substitutes = true;
            }
            Some(b'{') => {
                self.pos += 2;
                let quoted = !matches!(place, Place::Bare | Place::Parameter);
                piece.evaluates |= self.deeper(|parser| parser.parameter(quoted))?;
                piece.substitutes = true;
            }
            Some(b'[') => return Err(self.unparsed("arithmetic in '$[ ]'")),
            Some(b'\'') if place == Place::Bare => {
                self.pos += 2;
                return self.ansi_string(piece);
            }
            Some(b'"') if place == Place::Bare => {
                // The translation is whatever the catalogue says.
                self.pos += 2;
                self.double_quoted(piece)?;
                piece.evaluates = true;
            }
            Some(byte) if special(byte) => {
                self.pos += 1;
                if byte.is_ascii_alphabetic() || byte == b'_' {
                    self.take_name();
                } else {
                    self.pos += 1;
                }
            }
            _ if matches!(place, Place::Bare | Place::Quoted | Place::Document) => {
                self.pos += 1;
                piece.value.push('$');
                piece.lone_dollar = true;
                return Ok(());
            }
            _ => return Err(self.unparsed("a '$' on its own in an expansion")),
        }
        piece.unknown = true;
        Ok(())
    }

    /// Reads commands and the closing parenthesis.
    pub(super) fn substitution(&mut self, within: Within) -> Parsed<()> {
        // Here-documents of the outer line begin after its end, not in here.
        let awaited = mem::take(&mut self.awaited);
        self.skip_blanks()?;
        // Bash takes it for a program here.
        if self.reserved() == Some("time") {
            return Err(self.unparsed("'time' at the start of a substitution"));
        }
        let outer = self.substitution.replace(self.depth + 1);
        self.inside(within, |parser| {
            parser.list()?;
            parser.expect(")", "a substitution without its ')'")
        })?;
        self.substitution = outer;
        self.no_documents_left()?;
        self.awaited = awaited;
        Ok(())
    }

    /// Returns whether a process substitution comes next.
    pub(super) fn at_process(&self) -> bool {
        matches!(self.peek(), Some(b'<' | b'>')) && self.peek_at(1) == Some(b'(')
    }

    /// Reads a command in backquotes; `quoted` is for those in double quotes and
    /// the like, where bash also takes the backslash from `\"`.
    pub(super) fn backquote(&mut self, quoted: bool) -> Parsed<()> {
        let content = self.backquoted(quoted)?;
        let after = content.end + 1;
        self.bounded(content, |parser| {
            parser.inside(Within::Substitution, Self::list)?;
            if parser.peek().is_some() {
                return Err(parser.unparsed("something that cannot stand here"));
            }
            Ok(())
        })?;
        self.pos = after;
        Ok(())
    }

    /// Finds the end of what is in backquotes. Quotes do not matter for that,
    /// only backslashes do, and those that bash would remove are not followed.
    fn backquoted(&self, quoted: bool) -> Parsed<Range<usize>> {
        let start = self.pos + 1;
        let bytes = &self.text.as_bytes()[..self.end];
        let mut at = start;
        loop {
            match bytes.get(at) {
                Some(b'`') => return Ok(start..at),
                Some(b'\\') => match bytes.get(at + 1) {
                    Some(b'$' | b'`' | b'\\' | b'\n' | b'"') | None => {
                        return Err(self.unparsed("a backslash in backquotes"));
                    }
                    Some(_) => at += 2,
                },
                Some(b'"') if quoted => return Err(self.unparsed("a quote in quoted backquotes")),
                Some(_) => at += 1,
                None => return Err(self.unparsed("a backquote without its end")),
            }
        }
    }

    /// Reads the rest of `$'…'`.
    fn ansi_string(&mut self, piece: &mut Piece) -> Parsed<()> {
        loop {
            match self.peek() {
                None => return Err(self.unparsed("a quote without its end")),
                Some(b'\'') => {
                    self.pos += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.pos += 1;
                    self.ansi_escape(piece)?;
                }
                Some(_) => piece.value.push(self.take_char()),
            }
        }
    }

    /// Reads what follows a backslash in `$'…'`.
    fn ansi_escape(&mut self, piece: &mut Piece) -> Parsed<()> {
        let Some(escape) = self.peek() else {
            return Err(self.unparsed("a quote without its end"));
        };
        let code = match escape {
            b'0'..=b'7' => self.code(8, 3)?,
            b'x' => {
                self.pos += 1;
                self.code(16, 2)?
            }
            b'u' | b'U' => {
                self.pos += 1;
                self.code(16, if escape == b'u' { 4 } else { 8 })?
            }
            b'c' => {
                self.pos += 1;
                let Some(letter) = self.peek().filter(u8::is_ascii_alphabetic) else {
                    return Err(self.unparsed("an unusual escape"));
                };
                self.pos += 1;
                u32::from(letter & 0x1f)
            }
            b'\n' => return Err(self.unparsed("an escaped line end in quotes")),
            _ => {
                let next = self.take_char();
                match next {
                    'a' => piece.value.push('\x07'),
                    'b' => piece.value.push('\x08'),
                    'e' | 'E' => piece.value.push('\x1b'),
                    'f' => piece.value.push('\x0c'),
                    'n' => piece.value.push('\n'),
                    'r' => piece.value.push('\r'),
                    't' => piece.value.push('\t'),
                    'v' => piece.value.push('\x0b'),
                    '\\' | '\'' | '"' | '?' => piece.value.push(next),
                    _ => piece.value.extend(['\\', next]),
                }
                return Ok(());
            }
        };
        match u8::try_from(code) {
            // Bash drops the rest of the string.
            Ok(0) => return Err(self.unparsed("a NUL in quotes")),
            // The two that bash marks its own quotes with.
            Ok(0x01 | 0x7f) => piece.unknown = true,
            Ok(byte) if byte.is_ascii() => piece.value.push(char::from(byte)),
            // Depends on the character set.
            _ => piece.unknown = true,
        }
        Ok(())
    }

    /// Reads up to `most` digits.
    fn code(&mut self, base: u32, most: usize) -> Parsed<u32> {
        let mut code = 0_u32;
        let mut digits = 0;
        while digits < most {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(base));
            let Some(digit) = digit else { break };
            code = code.wrapping_mul(base).wrapping_add(digit);
            digits += 1;
            self.pos += 1;
        }
        if digits == 0 {
            return Err(self.unparsed("an unusual escape"));
        }
        Ok(code)
    }
}
