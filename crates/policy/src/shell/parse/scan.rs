//! Blanks, comments, line ends and reserved words.

use super::{Parsed, Parser};

/// The words that mean something where a command begins.
const RESERVED: [&str; 22] = [
    "!", "[[", "{", "}", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "in", "select", "then", "time", "until", "while", "]]",
];

/// The reserved words that end a list of commands.
const CLOSERS: [&str; 8] = ["then", "do", "done", "fi", "elif", "else", "esac", "}"];

pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Returns whether a character ends a word and is more than a blank.
pub(super) fn is_operator(byte: u8) -> bool {
    matches!(byte, b'|' | b'&' | b';' | b'(' | b')' | b'<' | b'>')
}

pub(super) fn ends_word(byte: Option<u8>) -> bool {
    byte.is_none_or(|byte| is_blank(byte) || byte == b'\n' || is_operator(byte))
}

pub(super) fn is_reserved(raw: &str) -> bool {
    RESERVED.contains(&raw)
}

/// Returns the length of the variable name that `text` begins with; 0 for none.
pub(super) fn name_len(text: &[u8]) -> usize {
    if text.first().is_none_or(u8::is_ascii_digit) {
        return 0;
    }
    text.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count()
}

impl<'a> Parser<'a> {
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.pos..self.end]
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.rest().first().copied()
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.rest().get(ahead).copied()
    }

    pub(super) fn looking_at(&self, text: &str) -> bool {
        self.rest().starts_with(text.as_bytes())
    }

    /// Returns whether a word ends before the character that is `ahead` of here. A
    /// process substitution would be a part of it.
    pub(super) fn word_ends_at(&self, ahead: usize) -> bool {
        let process = matches!(self.peek_at(ahead), Some(b'<' | b'>'))
            && self.peek_at(ahead + 1) == Some(b'(');
        ends_word(self.peek_at(ahead)) && !process
    }

    /// Takes `text` if it comes next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let here = self.looking_at(text);
        if here {
            self.pos += text.len();
        }
        here
    }

    pub(super) fn expect(&mut self, text: &str, why: &'static str) -> Parsed<()> {
        if self.take(text) { Ok(()) } else { Err(self.unparsed(why)) }
    }

    /// Takes the character that comes next, which is there.
    pub(super) fn take_char(&mut self) -> char {
        let next = self.text[self.pos..].chars().next().unwrap_or_default();
        self.pos += next.len_utf8();
        next
    }

    /// Takes a variable name; what follows it is for the caller to check.
    pub(super) fn take_name(&mut self) -> &'a str {
        let start = self.pos;
        self.pos += name_len(self.rest());
        &self.text[start..self.pos]
    }

    /// Skips blanks, escaped line ends, and a comment.
    pub(super) fn skip_blanks(&mut self) -> Parsed<()> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.pos += 1,
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => {
                    self.check_continuation()?;
                    self.pos += 2;
                }
                Some(b'#') => {
                    let length = self.rest().iter().position(|byte| *byte == b'\n');
                    let length = length.unwrap_or(self.rest().len());
                    // Bash before 5.2 looks for the end of a substitution in it.
                    let confusing = |byte: &u8| b"'\"`()\\$<{".contains(byte);
                    if self.substitution.is_some() && self.rest()[..length].iter().any(confusing) {
                        return Err(self.unparsed("a comment with signs in a substitution"));
                    }
                    self.pos += length;
                }
                _ => return Ok(()),
            }
        }
    }

    /// An escaped line end is as if it were not there, so it can join what looks
    /// like two operators or words. Between blanks it cannot.
    fn check_continuation(&self) -> Parsed<()> {
        if !self.awaited.is_empty() {
            return Err(self.unparsed("an escaped line end before a here-document"));
        }
        let apart = |byte: Option<u8>| byte.is_none_or(|byte| is_blank(byte) || byte == b'\n');
        let before = self.text.as_bytes()[..self.pos].last().copied();
        let after = self.peek_at(2);
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./\"'".contains(&byte);
        let joint = before.is_some_and(is_operator) && after.is_some_and(plain);
        if apart(before) || apart(after) || joint {
            Ok(())
        } else {
            Err(self.unparsed("an escaped line end without a blank beside it"))
        }
    }

    /// Skips blanks, comments and line ends, and reads the here-documents that
    /// begin there.
    pub(super) fn skip_lines(&mut self) -> Parsed<()> {
        loop {
            self.skip_blanks()?;
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.pos += 1;
            self.read_documents()?;
        }
    }

    /// Returns the reserved word that comes next, for where one can stand.
    pub(super) fn reserved(&self) -> Option<&'static str> {
        let here = |word: &&str| self.looking_at(word) && self.word_ends_at(word.len());
        RESERVED.iter().find(|word| here(word)).copied()
    }

    pub(super) fn expect_reserved(&mut self, word: &str, why: &'static str) -> Parsed<()> {
        if self.reserved() == Some(word) {
            self.pos += word.len();
            Ok(())
        } else {
            Err(self.unparsed(why))
        }
    }

    /// Returns whether a list of commands ends here, rightly or not.
    pub(super) fn at_list_end(&self) -> bool {
        match self.peek() {
            None | Some(b')') => true,
            Some(b';') => matches!(self.peek_at(1), Some(b';' | b'&')),
            _ => self.at_closer(),
        }
    }

    pub(super) fn at_closer(&self) -> bool {
        self.reserved().is_some_and(|word| CLOSERS.contains(&word))
    }
}
