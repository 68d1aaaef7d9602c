//! One word: quotes, escapes, and what is unknown about it.

use std::ops::Range;

use super::dollar::Place;
use super::scan::{ends_word, is_blank};
use super::{Parsed, Parser, Within, Word};

/// How a word is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// As everywhere.
    Plain,
    /// As after `=~`, where parentheses belong to it.
    Regex,
}

/// What is known about a word so far.
#[derive(Default)]
pub(super) struct Piece {
    /// The text without quotes.
    pub(super) value: String,
    /// Whether the text is not all of it.
    pub(super) unknown: bool,
    /// Whether something evaluates what a variable holds, or sets one.
    pub(super) evaluates: bool,
    /// Whether there is more of an expansion in it than `$name`.
    pub(super) substitutes: bool,
    /// Whether it has a `$` that begins nothing.
    pub(super) lone_dollar: bool,
    /// Where in the text the first `*`, `?` or `[` is.
    glob: Option<usize>,
    /// Where in the line the first `{` is.
    brace: Option<usize>,
}

/// A word, and where it is written.
pub(super) struct Read {
    pub(super) word: Word,
    pub(super) evaluates: bool,
    pub(super) span: Range<usize>,
}

/// Some shells take single bytes of these characters for blanks.
fn may_be_blank(c: char) -> bool {
    let mut buffer = [0; 4];
    !c.is_ascii() && c.encode_utf8(&mut buffer).bytes().any(|byte| matches!(byte, 0x85 | 0xa0))
}

impl Parser<'_> {
    /// Reads a word.
    pub(super) fn word(&mut self, manner: Manner) -> Parsed<Read> {
        let read = self.word_or_nothing(manner)?;
        if read.span.is_empty() {
            return Err(self.unparsed("a word is missing"));
        }
        Ok(read)
    }

    /// Reads a word that may be empty, as after `name=`.
    pub(super) fn word_or_nothing(&mut self, manner: Manner) -> Parsed<Read> {
        let start = self.pos;
        let mut piece = Piece::default();
        let mut parentheses = 0_usize;
        while let Some(next) = self.peek() {
            if parentheses > 0 && !self.plain_in_regex(next) {
                return Err(self.unparsed("an unusual character in a group of a pattern"));
            }
            match next {
                b'(' if manner == Manner::Regex => {
                    parentheses += 1;
                    piece.value.push(self.take_char());
                }
                b')' if parentheses > 0 => {
                    parentheses -= 1;
                    piece.value.push(self.take_char());
                }
                b'|' if parentheses > 0 => piece.value.push(self.take_char()),
                b'<' | b'>' if self.at_process() => {
                    if self.pos != start || manner == Manner::Regex {
                        return Err(self.unparsed("a process substitution within a word"));
                    }
                    self.pos += 2;
                    if self.peek() == Some(b'(') {
                        return Err(self.unparsed("a parenthesis at the start of a substitution"));
                    }
                    self.substitution(Within::ProcessSubstitution)?;
                    (piece.unknown, piece.substitutes) = (true, true);
                }
                b'\\' if self.peek_at(1) == Some(b'\n') => {
                    // Without a blank the word would go on in the next line.
                    if !self.peek_at(2).is_none_or(|byte| is_blank(byte) || byte == b'\n') {
                        return Err(self.unparsed("an escaped line end within a word"));
                    }
                    break;
                }
                _ if ends_word(Some(next)) => break,
                _ => self.part(next, start, &mut piece)?,
            }
        }
        if parentheses > 0 {
            return Err(self.unparsed("a group of a pattern without its end"));
        }
        let span = start..self.pos;
        if !self.awaited.is_empty() && self.text[span.clone()].contains('\n') {
            return Err(self.unparsed("a line end before a here-document"));
        }
        self.braces(&mut piece)?;
        let word = self.known(&piece, span.clone());
        Ok(Read { word, evaluates: piece.evaluates, span })
    }

    fn plain_in_regex(&self, next: u8) -> bool {
        !next.is_ascii()
            || next.is_ascii_alphanumeric()
            || b"()|.*+?[]^$_-:=,/{}@%#!~".contains(&next)
    }

    /// Reads the next part of a word outside of quotes.
    fn part(&mut self, next: u8, start: usize, piece: &mut Piece) -> Parsed<()> {
        match next {
            b'\'' => self.single_quoted(piece)?,
            b'"' => {
                self.pos += 1;
                self.double_quoted(piece)?;
            }
            b'\\' => {
                self.pos += 1;
                if self.peek().is_none() {
                    return Err(self.unparsed("a backslash at the end"));
                }
                piece.value.push(self.take_char());
            }
            b'$' => self.dollar(Place::Bare, piece)?,
            b'`' => {
                self.backquote(false)?;
                (piece.unknown, piece.substitutes) = (true, true);
            }
            b'~' => {
                let before = &self.text[start..self.pos];
                piece.unknown |= before.is_empty() || before.ends_with(['=', ':', '\'', '"']);
                piece.value.push(self.take_char());
            }
            _ => {
                if matches!(next, b'*' | b'?' | b'[') {
                    piece.glob.get_or_insert(piece.value.len());
                } else if next == b'{' {
                    piece.brace.get_or_insert(self.pos);
                }
                let c = self.take_char();
                if may_be_blank(c) {
                    return Err(self.unparsed("a character that a shell may take for a blank"));
                }
                piece.value.push(c);
            }
        }
        Ok(())
    }

    /// Reads `'…'`.
    pub(super) fn single_quoted(&mut self, piece: &mut Piece) -> Parsed<()> {
        let content = &self.text[self.pos + 1..self.end];
        let Some(length) = content.find('\'') else {
            return Err(self.unparsed("a quote without its end"));
        };
        piece.value.push_str(&content[..length]);
        self.pos += length + 2;
        Ok(())
    }

    /// Reads the rest of `"…"`.
    pub(super) fn double_quoted(&mut self, piece: &mut Piece) -> Parsed<()> {
        loop {
            match self.peek() {
                None => return Err(self.unparsed("a quote without its end")),
                Some(b'"') => {
                    self.pos += 1;
                    return Ok(());
                }
                Some(b'\\') => match self.peek_at(1) {
                    Some(b'$' | b'`' | b'"' | b'\\') => {
                        self.pos += 1;
                        piece.value.push(self.take_char());
                    }
                    // It is as if it were not there: `$\` and `(` in the next
                    // line make a substitution.
                    Some(b'\n') if self.text[..self.pos].ends_with('$') => {
                        return Err(self.unparsed("an escaped line end after '$'"));
                    }
                    Some(b'\n') => self.pos += 2,
                    _ => piece.value.push(self.take_char()),
                },
                Some(b'$') => self.dollar(Place::Quoted, piece)?,
                Some(b'`') => {
                    self.backquote(true)?;
                    (piece.unknown, piece.substitutes) = (true, true);
                }
                Some(_) => piece.value.push(self.take_char()),
            }
        }
    }

    /// Sees whether the word has a brace expansion, which makes several of it.
    fn braces(&self, piece: &mut Piece) -> Parsed<()> {
        let Some(open) = piece.brace else { return Ok(()) };
        let raw = &self.text[open..self.pos];
        let raw = &raw[..raw.rfind('}').unwrap_or(0)];
        if !raw.contains(',') && !raw.contains("..") {
            return Ok(());
        }
        // The words it makes are read again: `{$,x}[y]` is arithmetic, and
        // `{Z..a}` has a backquote among its letters.
        let mixed = raw.as_bytes().windows(4).any(|window| {
            let [before, b'.', b'.', after] = *window else { return false };
            before.is_ascii_alphabetic()
                && after.is_ascii_alphabetic()
                && before.is_ascii_lowercase() != after.is_ascii_lowercase()
        });
        if piece.substitutes || piece.lone_dollar || mixed {
            return Err(self.unparsed("a brace expansion that is not plain"));
        }
        piece.unknown = true;
        Ok(())
    }

    fn known(&self, piece: &Piece, span: Range<usize>) -> Word {
        if piece.unknown {
            return Word::Unknown { raw: self.text[span].to_owned() };
        }
        let text = piece.value.clone();
        match piece.glob {
            // The program `[`, which is no pattern without its end.
            Some(_) if &self.text[span] == "[" => Word::Known(text),
            Some(at) => Word::Glob { fixed: text[..at].to_owned(), text },
            None => Word::Known(text),
        }
    }
}
