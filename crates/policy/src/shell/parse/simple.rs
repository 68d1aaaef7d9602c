//! A simple command: assignments, words and redirections.

use super::list::Ended;
use super::scan::{ends_word, is_operator, is_reserved, name_len};
use super::word::Manner;
use super::{Parsed, Parser, Word};

/// The builtins whose arguments may be assignments of lists.
const DECLARE: [&str; 5] = ["declare", "typeset", "export", "readonly", "local"];

impl Parser<'_> {
    pub(super) fn simple(&mut self) -> Parsed<Ended> {
        let start = self.pos;
        let number = self.draft(start);
        let (mut words, mut assignments, mut redirects) = (Vec::new(), Vec::new(), Vec::new());
        let mut end = start;
        let mut declares = false;
        loop {
            self.skip_blanks()?;
            if self.at_redirect() {
                redirects.push(self.redirect()?);
            } else if self.peek() == Some(b'(') {
                // Only `name()` can go on like this.
                let named = words.len() == 1 && assignments.is_empty() && redirects.is_empty();
                if !named || self.drafts.len() != number + 1 {
                    return Err(self.unparsed("a parenthesis after a word"));
                }
                self.drafts.pop();
                return self.function_named(start..end);
            } else if ends_word(self.peek()) && !self.at_process() {
                break;
            } else if let Some(prefix) = self.assignment_ahead(words.is_empty()) {
                assignments.push(self.assignment(prefix)?);
            } else {
                let first = self.pos;
                words.push(if words.is_empty() {
                    self.program()?
                } else {
                    self.argument(declares)?
                });
                declares |= words.len() == 1 && DECLARE.contains(&&self.text[first..self.pos]);
            }
            end = self.pos;
        }
        self.line_ends_after_document()?;
        let draft = &mut self.drafts[number];
        (draft.words, draft.assignments, draft.redirects) = (words, assignments, redirects);
        draft.span.end = end;
        Ok(Ended::Word)
    }

    fn program(&mut self) -> Parsed<Word> {
        let read = self.word(Manner::Plain)?;
        if is_reserved(&self.text[read.span]) {
            return Err(self.unparsed("a reserved word that cannot stand here"));
        }
        Ok(read.word)
    }

    /// Reads an argument, which may assign a list if the program `declares`.
    fn argument(&mut self, declares: bool) -> Parsed<Word> {
        let read = self.word(Manner::Plain)?;
        if !declares || self.peek() != Some(b'(') {
            return Ok(read.word);
        }
        let raw = &self.text[read.span.clone()];
        let name = raw.strip_suffix('=').unwrap_or_default();
        let name = name.strip_suffix('+').unwrap_or(name);
        if name.is_empty() || name_len(name.as_bytes()) != name.len() {
            return Err(self.unparsed("a parenthesis after a word"));
        }
        self.deeper(Self::elements)?;
        Ok(Word::Unknown { raw: self.text[read.span.start..self.pos].to_owned() })
    }

    /// Returns the length of `name=` or `name+=` if that comes next; for
    /// `name[…` it is the name's.
    fn assignment_ahead(&self, acceptable: bool) -> Option<usize> {
        let rest = self.rest();
        let length = name_len(rest);
        if !acceptable || length == 0 {
            return None;
        }
        match &rest[length..] {
            [b'=', ..] => Some(length + 1),
            [b'+', b'=', ..] => Some(length + 2),
            [b'[', ..] => Some(length),
            _ => None,
        }
    }

    /// Reads an assignment.
    fn assignment(&mut self, prefix: usize) -> Parsed<(String, Word)> {
        let start = self.pos;
        self.pos += prefix;
        let subscripted = self.peek() == Some(b'[') && !self.text[..self.pos].ends_with('=');
        if subscripted {
            self.element_subscript()?;
        }
        let name = self.text[start..self.pos].trim_end_matches('=').trim_end_matches('+');
        let name = name.to_owned();
        let value = self.pos;
        if self.peek() == Some(b'(') {
            if subscripted {
                return Err(self.unparsed("a list as an element"));
            }
            self.deeper(Self::elements)?;
            return Ok((name, Word::Unknown { raw: self.text[value..self.pos].to_owned() }));
        }
        Ok((name, self.value()?))
    }

    /// Reads what is assigned, which may be nothing.
    fn value(&mut self) -> Parsed<Word> {
        if ends_word(self.peek()) && !self.at_process() {
            return Ok(Word::Known(String::new()));
        }
        let read = self.word_or_nothing(Manner::Plain)?;
        if read.evaluates {
            self.evaluation(read.span);
        }
        Ok(read.word)
    }

    /// Reads `[subscript]=` or `[subscript]+=`. Bash takes everything up to the
    /// bracket for the subscript, blanks and operators too, so nothing else may
    /// begin like this.
    fn element_subscript(&mut self) -> Parsed<()> {
        self.subscript()?;
        if self.take("=") || self.take("+=") {
            return Ok(());
        }
        Err(self.unparsed("a bracket that is no subscript"))
    }

    /// Reads the list in `name=( … )`.
    fn elements(&mut self) -> Parsed<()> {
        self.expect("(", "a list is missing")?;
        if !self.awaited.is_empty() {
            return Err(self.unparsed("a list before a here-document"));
        }
        loop {
            self.skip_lines()?;
            match self.peek() {
                Some(b')') => break,
                Some(b'[') => {
                    let start = self.pos;
                    self.element_subscript()?;
                    // The subscript is arithmetic.
                    self.evaluation(start..self.pos);
                    self.value()?;
                }
                Some(byte) if is_operator(byte) && !self.at_process() => {
                    return Err(self.unparsed("an operator in a list"));
                }
                Some(_) => {
                    let read = self.word(Manner::Plain)?;
                    if read.evaluates {
                        self.evaluation(read.span);
                    }
                }
                None => return Err(self.unparsed("a list without its ')'")),
            }
        }
        self.pos += 1;
        if !self.word_ends_at(0) {
            return Err(self.unparsed("something right after a list"));
        }
        Ok(())
    }
}
