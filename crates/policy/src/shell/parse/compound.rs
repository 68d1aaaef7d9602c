//! Groups, conditions, loops and functions.

use super::list::Ended;
use super::scan::{ends_word, is_reserved};
use super::word::Manner;
use super::{Parsed, Parser, Within};

impl Parser<'_> {
    /// Reads a command that holds others, with its redirections.
    pub(super) fn compound(&mut self) -> Parsed<Ended> {
        let (first, start) = (self.drafts.len(), self.pos);
        match self.reserved() {
            Some("{") => self.deeper(Self::group)?,
            Some("if") => self.inside(Within::Compound, Self::condition_list)?,
            Some("while" | "until") => self.inside(Within::Compound, Self::while_loop)?,
            Some("for") => self.inside(Within::Compound, Self::for_loop)?,
            Some("select") => self.inside(Within::Compound, Self::select)?,
            Some("case") => self.inside(Within::Compound, Self::case)?,
            None if self.looking_at("(") && !self.looking_at("((") => {
                self.inside(Within::Subshell, Self::subshell)?;
            }
            _ => return Err(self.unparsed("a group is missing")),
        }
        self.redirects_of(first, start)
    }

    /// Reads the redirections after a compound command, and puts them on the
    /// commands from `first` on.
    pub(super) fn redirects_of(&mut self, first: usize, start: usize) -> Parsed<Ended> {
        let commands = first..self.drafts.len();
        let mut redirects = Vec::new();
        loop {
            self.skip_blanks()?;
            if !self.at_redirect() {
                break;
            }
            redirects.push(self.redirect()?);
        }
        self.line_ends_after_document()?;
        if redirects.is_empty() {
            return Ok(Ended::Closed);
        }
        if commands.is_empty() {
            // `case x in esac > f` runs nothing, and writes.
            let number = self.draft(start);
            self.drafts[number].span.end = self.pos;
            self.drafts[number].redirects = redirects;
        } else {
            self.hand_on(commands, &redirects)?;
        }
        Ok(Ended::Word)
    }

    fn group(&mut self) -> Parsed<()> {
        self.pos += "{".len();
        self.commands()?;
        self.expect_reserved("}", "a '{' without its '}'")
    }

    fn subshell(&mut self) -> Parsed<()> {
        self.pos += "(".len();
        self.commands()?;
        self.expect(")", "a '(' without its ')'")
    }

    fn condition_list(&mut self) -> Parsed<()> {
        self.pos += "if".len();
        loop {
            self.commands()?;
            self.expect_reserved("then", "an 'if' without its 'then'")?;
            self.commands()?;
            match self.reserved() {
                Some("elif") => self.pos += "elif".len(),
                Some("else") => {
                    self.pos += "else".len();
                    self.commands()?;
                    break;
                }
                _ => break,
            }
        }
        self.expect_reserved("fi", "an 'if' without its 'fi'")
    }

    fn while_loop(&mut self) -> Parsed<()> {
        self.pos += "while".len(); // As long as `until`.
        self.commands()?;
        self.body()
    }

    /// Reads `do … done`.
    fn body(&mut self) -> Parsed<()> {
        self.expect_reserved("do", "a loop without its 'do'")?;
        self.commands()?;
        self.expect_reserved("done", "a loop without its 'done'")
    }

    fn for_loop(&mut self) -> Parsed<()> {
        let start = self.pos;
        self.pos += "for".len();
        self.skip_blanks()?;
        if self.looking_at("((") {
            self.arithmetic_head()?;
            self.skip_blanks()?;
            self.take_terminator()?;
            self.skip_lines()?;
            return self.body();
        }
        self.loop_over(start)
    }

    fn select(&mut self) -> Parsed<()> {
        let start = self.pos;
        self.pos += "select".len();
        self.skip_blanks()?;
        // What is typed goes there.
        self.set_by("REPLY", start..self.pos);
        self.loop_over(start)
    }

    /// Takes one `;`, but no `;;`.
    fn take_terminator(&mut self) -> Parsed<bool> {
        let here = self.peek() == Some(b';');
        if here && self.at_list_end() {
            return Err(self.unparsed("';;' outside of a 'case'"));
        }
        self.pos += usize::from(here);
        Ok(here)
    }

    /// Reads the rest of a loop over words from the name on.
    fn loop_over(&mut self, start: usize) -> Parsed<()> {
        let name = self.take_name();
        if name.is_empty() || !self.word_ends_at(0) {
            return Err(self.unparsed("a loop without a plain variable"));
        }
        self.set_by(name, start..self.pos);
        self.skip_blanks()?;
        if self.take_terminator()? {
            self.skip_lines()?;
            return self.body();
        }
        self.skip_lines()?;
        if self.reserved() == Some("in") {
            self.pos += "in".len();
            loop {
                self.skip_blanks()?;
                if self.peek() == Some(b'\n') || self.take_terminator()? {
                    break;
                }
                self.word_of_head()?;
            }
            self.skip_lines()?;
        }
        self.body()
    }

    /// Reads a word that is no command's.
    fn word_of_head(&mut self) -> Parsed<()> {
        let read = self.word(Manner::Plain)?;
        if read.evaluates {
            self.evaluation(read.span);
        }
        Ok(())
    }

    fn case(&mut self) -> Parsed<()> {
        self.pos += "case".len();
        self.skip_blanks()?;
        self.word_of_head()?;
        self.skip_lines()?;
        self.expect_reserved("in", "a 'case' without its 'in'")?;
        loop {
            self.skip_lines()?;
            if self.reserved() == Some("esac") {
                break;
            }
            self.patterns()?;
            self.list()?;
            if !self.take(";;&") && !self.take(";;") && !self.take(";&") {
                break;
            }
        }
        self.expect_reserved("esac", "a 'case' without its 'esac'")
    }

    /// Reads the patterns of one branch with the closing parenthesis.
    fn patterns(&mut self) -> Parsed<()> {
        self.take("(");
        loop {
            self.skip_blanks()?;
            if self.reserved().is_some() {
                return Err(self.unparsed("a reserved word as a pattern"));
            }
            self.word_of_head()?;
            self.skip_blanks()?;
            if self.take(")") {
                return Ok(());
            }
            self.expect("|", "a pattern without its ')'")?;
        }
    }

    /// Reads `function name { … }`.
    pub(super) fn function(&mut self) -> Parsed<Ended> {
        self.pos += "function".len();
        self.skip_blanks()?;
        let start = self.pos;
        let length = self.rest().iter().take_while(|byte| !ends_word(Some(**byte))).count();
        self.pos += length;
        if !self.word_ends_at(0) {
            return Err(self.unparsed("an unusual name of a function"));
        }
        let span = start..self.pos;
        self.skip_blanks()?;
        if self.peek() == Some(b'(') {
            return self.function_named(span);
        }
        self.function_body(span)
    }

    /// Reads a function from the parentheses after its name on.
    pub(super) fn function_named(&mut self, name: std::ops::Range<usize>) -> Parsed<Ended> {
        self.expect("(", "a function without '()'")?;
        self.skip_blanks()?;
        self.expect(")", "a parenthesis after a word")?;
        self.function_body(name)
    }

    fn function_body(&mut self, name: std::ops::Range<usize>) -> Parsed<Ended> {
        let name = &self.text[name];
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
        let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
        if !name.starts_with(begins) || !name.chars().all(plain) || is_reserved(name) {
            return Err(self.unparsed("an unusual name of a function"));
        }
        self.functions.insert(name);
        self.skip_lines()?;
        self.inside(Within::Function, Self::compound)
    }
}
