//! Takes a command line apart into the commands that bash would run from it.
//!
//! This is bash 5 as it reads `bash -c TEXT`: no history, no aliases, `extglob`
//! off, not in POSIX mode. The parser is strict. What it does not know for
//! certain is [`Unparsed`], the whole line, and never guessed at: a line that is
//! wrongly refused costs a question, a command that is missing from the list
//! costs the rule that would have stopped it.
//!
//! Two things are listed that nobody would call commands, because they run or
//! change something all the same and stand where no command does:
//!
//! - An expansion that evaluates the *value* of a variable (arithmetic, `${!x}`,
//!   `${x@P}`, `${x:=y}`) outside of a command's words, such as in a redirection
//!   or in the head of a loop, is a command `((` with an unknown word. A value
//!   such as `a[$(rm x)]` runs `rm` when arithmetic looks at it.
//! - A variable that a loop or a `{name}>` sets is an assignment of its own, unless
//!   the name is one that no program looks at (lower case, without `_`):
//!   `for PATH in /tmp; do ls; done`.

mod arithmetic;
mod compound;
mod condition;
mod dollar;
mod list;
mod parameter;
mod redirect;
mod scan;
mod simple;
#[cfg(test)]
mod tests;
mod word;

use std::collections::HashSet;
use std::mem;
use std::ops::Range;

use super::line::{
    Line, Redirect, RedirectKind, Simple, TOO_DEEP, TOO_LONG, Unparsed, Within, Word,
};

/// Longer lines are not taken apart.
pub const MAX_TEXT: usize = 64 * 1024;

/// Deeper nesting is not followed.
pub const MAX_DEPTH: usize = 50;

/// The bytes of the redirections that groups hand on to their commands, in all. A
/// line could otherwise ask for thousands of copies on each of thousands of commands.
const MAX_COPIES: usize = 1024 * 1024;

/// Bash gives up on more here-documents in one line.
const MAX_DOCUMENTS: usize = 16;

type Parsed<T> = Result<T, Unparsed>;

/// Returns the commands that bash could run from `text`.
///
/// # Errors
/// Where any of it is wrong, too long or deep, or not understood for certain.
pub fn parse(text: &str) -> Result<Line, Unparsed> {
    if text.len() > MAX_TEXT {
        return Err(Unparsed { why: TOO_LONG, at: MAX_TEXT });
    }
    let strange = |c: char| c.is_control() && !matches!(c, '\t' | '\n');
    if let Some(at) = text.find(strange) {
        return Err(Unparsed { why: "a control character", at });
    }
    // `bash -c -x` has no command.
    if text.starts_with(['-', '+']) {
        return Err(Unparsed { why: "an option at the start of the line", at: 0 });
    }
    let mut parser = Parser::new(text);
    parser.list()?;
    if parser.peek().is_some() {
        return Err(parser.unparsed("something that cannot stand here"));
    }
    parser.no_documents_left()?;
    parser.finish()
}

/// A command while it is read.
struct Draft {
    words: Vec<Word>,
    assignments: Vec<(String, Word)>,
    redirects: Vec<Redirection>,
    span: Range<usize>,
    within: Vec<Within>,
}

/// A redirection while it is read.
#[derive(Clone)]
struct Redirection {
    kind: RedirectKind,
    fd: Option<String>,
    target: Target,
}

#[derive(Clone)]
enum Target {
    Word(Word),
    /// A here-document, by number: its text comes after the line.
    Document(usize),
}

/// A here-document whose text has not been reached yet.
struct Awaited {
    document: usize,
    delimiter: String,
    /// Whether its text is expanded.
    expands: bool,
    /// Whether tabs at the start of its lines are dropped.
    drops_tabs: bool,
    within: Vec<Within>,
}

struct Parser<'a> {
    text: &'a str,
    pos: usize,
    /// Where reading ends: of the text, or of the part that is read on its own.
    end: usize,
    depth: usize,
    within: Vec<Within>,
    drafts: Vec<Draft>,
    documents: Vec<Word>,
    awaited: Vec<Awaited>,
    functions: HashSet<&'a str>,
    copies: usize,
    /// The depth of the innermost substitution's own commands.
    substitution: Option<usize>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        Parser {
            text,
            pos: 0,
            end: text.len(),
            depth: 0,
            within: Vec::new(),
            drafts: Vec::new(),
            documents: Vec::new(),
            awaited: Vec::new(),
            functions: HashSet::new(),
            copies: 0,
            substitution: None,
        }
    }

    fn unparsed(&self, why: &'static str) -> Unparsed {
        Unparsed { why, at: self.pos }
    }

    /// Runs `inner` one level deeper.
    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_DEPTH {
            return Err(self.unparsed(TOO_DEEP));
        }
        self.depth += 1;
        let result = inner(self)?;
        self.depth -= 1;
        Ok(result)
    }

    /// Runs `inner` one level deeper, with its commands marked as `within`.
    fn inside<T>(
        &mut self,
        within: Within,
        inner: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Parsed<T> {
        self.within.push(within);
        let result = self.deeper(inner)?;
        self.within.pop();
        Ok(result)
    }

    /// Runs `inner` on a part of the text as if nothing followed it, and goes
    /// back to where the parser was.
    fn bounded<T>(
        &mut self,
        part: Range<usize>,
        inner: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Parsed<T> {
        let (pos, end) = (self.pos, self.end);
        (self.pos, self.end) = (part.start, part.end);
        let awaited = mem::take(&mut self.awaited);
        let result = inner(self)?;
        self.no_documents_left()?;
        self.awaited = awaited;
        (self.pos, self.end) = (pos, end);
        Ok(result)
    }

    /// Adds a command and returns its number. Commands are added before their
    /// words are read, so that what is nested in them comes after them.
    fn draft(&mut self, start: usize) -> usize {
        self.drafts.push(Draft {
            words: Vec::new(),
            assignments: Vec::new(),
            redirects: Vec::new(),
            span: start..start,
            within: self.within.clone(),
        });
        self.drafts.len() - 1
    }

    /// Lists an expansion that evaluates what a variable holds.
    fn evaluation(&mut self, span: Range<usize>) {
        let number = self.draft(span.start);
        let raw = self.text[span.clone()].to_owned();
        self.drafts[number].words = vec![Word::Known("((".to_owned()), Word::Unknown { raw }];
        self.drafts[number].span = span;
    }

    /// Lists that `name` is set by something that is not an assignment.
    fn set_by(&mut self, name: &str, span: Range<usize>) {
        let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        if name.chars().all(letters) {
            return;
        }
        let number = self.draft(span.start);
        let raw = self.text[span.clone()].to_owned();
        self.drafts[number].assignments = vec![(name.to_owned(), Word::Unknown { raw })];
        self.drafts[number].span = span;
    }

    /// Marks the commands from `first` on as standing in `within`, which was
    /// seen only after them.
    fn mark(&mut self, first: usize, level: usize, within: Within) {
        for draft in &mut self.drafts[first..] {
            // A here-document of an earlier command may have been read meanwhile.
            let level = level.min(draft.within.len());
            draft.within.insert(level, within);
        }
    }

    /// Puts the redirections of a group on its commands.
    fn hand_on(&mut self, commands: Range<usize>, redirects: &[Redirection]) -> Parsed<()> {
        let size = |redirect: &Redirection| match &redirect.target {
            Target::Word(word) => size_of::<Redirect>() + length(word),
            Target::Document(_) => size_of::<Redirect>(),
        };
        self.copies += commands.len() * redirects.iter().map(size).sum::<usize>();
        if self.copies > MAX_COPIES {
            return Err(self.unparsed("too many redirections"));
        }
        for draft in &mut self.drafts[commands] {
            // Those of the command itself come later, and so win.
            draft.redirects.splice(0..0, redirects.iter().cloned());
        }
        Ok(())
    }

    fn finish(self) -> Parsed<Line> {
        let documents = &self.documents;
        let size = |redirect: &Redirection| match redirect.target {
            Target::Document(number) => length(&documents[number]),
            Target::Word(_) => 0,
        };
        let redirects = self.drafts.iter().flat_map(|draft| &draft.redirects);
        if redirects.map(size).sum::<usize>() > MAX_COPIES {
            return Err(self.unparsed("too many redirections"));
        }
        let redirect = |redirection: Redirection| Redirect {
            kind: redirection.kind,
            fd: redirection.fd,
            target: match redirection.target {
                Target::Word(word) => word,
                Target::Document(number) => documents[number].clone(),
            },
        };
        let simple = |draft: Draft| Simple {
            redefined: draft
                .words
                .first()
                .and_then(Word::known)
                .is_some_and(|name| self.functions.contains(name)),
            words: draft.words,
            assignments: draft.assignments,
            redirects: draft.redirects.into_iter().map(redirect).collect(),
            text: self.text[draft.span].to_owned(),
            within: draft.within,
        };
        Ok(Line { commands: self.drafts.into_iter().map(simple).collect() })
    }
}

fn length(word: &Word) -> usize {
    match word {
        Word::Known(text) | Word::Glob { text, .. } => text.len(),
        Word::Unknown { raw } => raw.len(),
    }
}
