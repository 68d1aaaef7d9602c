//! Lists, pipelines, and which kind of command comes next.

use super::scan::{ends_word, is_blank};
use super::{Parsed, Parser, Within};

/// What a command ended with. After a word, a reserved word would be one more
/// word; after a closing `}` or `)` it counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Word,
    Closed,
}

impl Parser<'_> {
    /// Reads commands up to something that ends a list, and returns whether
    /// there were any.
    pub(super) fn list(&mut self) -> Parsed<bool> {
        let mut any = false;
        loop {
            self.skip_lines()?;
            if self.at_list_end() {
                return Ok(any);
            }
            let (first, level) = (self.drafts.len(), self.within.len());
            let ended = self.and_or()?;
            any = true;
            self.skip_blanks()?;
            match self.peek() {
                None | Some(b')') => return Ok(true),
                Some(b'\n') => {}
                Some(b';') if self.at_list_end() => return Ok(true),
                Some(b';') => self.pos += 1,
                Some(b'&') => {
                    self.pos += 1;
                    self.mark(first, level, Within::Background);
                }
                _ if ended == Ended::Closed && self.at_closer() => return Ok(true),
                _ => return Err(self.unparsed("something that cannot follow a command")),
            }
        }
    }

    /// Reads a list that must not be empty.
    pub(super) fn commands(&mut self) -> Parsed<()> {
        if self.list()? { Ok(()) } else { Err(self.unparsed("a command is missing")) }
    }

    fn and_or(&mut self) -> Parsed<Ended> {
        loop {
            let ended = self.pipeline()?;
            self.skip_blanks()?;
            if !self.take("&&") && !self.take("||") {
                return Ok(ended);
            }
            self.skip_lines()?;
        }
    }

    fn pipeline(&mut self) -> Parsed<Ended> {
        loop {
            self.skip_blanks()?;
            match self.reserved() {
                // With `extglob` this would be a pattern.
                Some("!") if self.peek_at(1) == Some(b'(') => {
                    return Err(self.unparsed("'!' right before a parenthesis"));
                }
                Some("!") => self.pos += 1,
                Some("time") => self.time()?,
                _ => break,
            }
        }
        let (first, level) = (self.drafts.len(), self.within.len());
        let mut piped = false;
        loop {
            let ended = self.command()?;
            self.skip_blanks()?;
            if self.peek() != Some(b'|') || self.peek_at(1) == Some(b'|') {
                if piped {
                    self.mark(first, level, Within::Pipeline);
                }
                return Ok(ended);
            }
            self.pos += 1;
            self.take("&");
            piped = true;
            self.skip_lines()?;
            // Whether `time` is a program here depends on what stood before.
            if matches!(self.reserved(), Some("!" | "time")) {
                return Err(self.unparsed("a reserved word within a pipeline"));
            }
        }
    }

    /// Reads `time` and its options.
    fn time(&mut self) -> Parsed<()> {
        self.pos += "time".len();
        for option in ["-p", "--"] {
            self.skip_blanks()?;
            if self.looking_at(option) && self.peek_at(option.len()).is_some_and(is_blank) {
                self.pos += option.len();
            }
        }
        self.skip_blanks()?;
        if self.peek() == Some(b'-') {
            return Err(self.unparsed("an option of 'time'"));
        }
        Ok(())
    }

    fn command(&mut self) -> Parsed<Ended> {
        if self.looking_at("((") {
            return self.arithmetic_command();
        }
        if self.peek() == Some(b'(') {
            return self.compound();
        }
        match self.reserved() {
            Some("function") => self.function(),
            Some("[[") => self.condition(),
            Some("coproc") => Err(self.unparsed("a coprocess")),
            Some("{" | "if" | "while" | "until" | "for" | "select" | "case") => self.compound(),
            Some(_) => Err(self.unparsed("a reserved word that cannot stand here")),
            None if ends_word(self.peek()) && !self.at_redirect() && !self.at_process() => {
                Err(self.unparsed("a command is missing"))
            }
            None => self.simple(),
        }
    }
}
