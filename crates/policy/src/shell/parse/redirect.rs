//! Redirections and here-documents.

use std::mem;
use std::ops::Range;

use super::dollar::Place;
use super::scan::{ends_word, name_len};
use super::word::{Manner, Piece};
use super::{Awaited, MAX_DOCUMENTS, Parsed, Parser, RedirectKind, Redirection, Target, Word};

/// The operators, longest first.
const OPERATORS: [(&str, RedirectKind); 12] = [
    ("&>>", RedirectKind::Append),
    ("<<<", RedirectKind::Text),
    ("<<-", RedirectKind::Text),
    ("<<", RedirectKind::Text),
    ("<&", RedirectKind::Duplicate),
    ("<>", RedirectKind::Both),
    (">>", RedirectKind::Append),
    (">&", RedirectKind::Duplicate),
    (">|", RedirectKind::Write),
    ("&>", RedirectKind::Write),
    ("<", RedirectKind::Read),
    (">", RedirectKind::Write),
];

/// Returns the length of a descriptor, `2` or `{name}`, at the start of `text`,
/// if it belongs to the redirection that follows.
fn descriptor_len(text: &[u8]) -> usize {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let name = if text.first() == Some(&b'{') { name_len(&text[1..]) } else { 0 };
    let length = if name > 0 && text.get(1 + name) == Some(&b'}') { name + 2 } else { digits };
    match &text[length..] {
        [b'<' | b'>', b'(', ..] => 0,
        [b'<' | b'>', ..] => length,
        _ => 0,
    }
}

/// Returns whether a target of `>&` is a descriptor: `2`, `-` or `2-`.
fn is_descriptor(target: &str) -> bool {
    let digits = target.strip_suffix('-').unwrap_or(target);
    !target.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

impl Parser<'_> {
    /// Returns whether a redirection comes next.
    pub(super) fn at_redirect(&self) -> bool {
        let rest = self.rest();
        match rest {
            [b'<' | b'>', b'(', ..] => false,
            [b'<' | b'>', ..] | [b'&', b'>', ..] => true,
            _ => descriptor_len(rest) > 0,
        }
    }

    /// Reads a redirection.
    pub(super) fn redirect(&mut self) -> Parsed<Redirection> {
        let start = self.pos;
        let length = descriptor_len(self.rest());
        self.pos += length;
        let fd = &self.text[start..self.pos];
        if fd.len() > 3 && !fd.starts_with('{') {
            return Err(self.unparsed("an unusual descriptor"));
        }
        let operator = OPERATORS.iter().find(|(sign, _)| self.looking_at(sign));
        let Some(&(sign, kind)) = operator else {
            return Err(self.unparsed("a redirection is missing"));
        };
        self.pos += sign.len();
        self.skip_blanks()?;
        if let Some(name) = fd.strip_prefix('{') {
            self.set_by(name.trim_end_matches('}'), start..self.pos);
        }
        let fd = (length > 0).then(|| fd.to_owned());
        if matches!(sign, "<<" | "<<-") {
            let document = self.document(sign == "<<-")?;
            return Ok(Redirection { kind, fd, target: Target::Document(document) });
        }
        let (kind, target) = self.target(sign, kind)?;
        Ok(Redirection { kind, fd, target: Target::Word(target) })
    }

    fn target(&mut self, sign: &str, kind: RedirectKind) -> Parsed<(RedirectKind, Word)> {
        let duplicates = kind == RedirectKind::Duplicate;
        // `>&-x` closes the descriptor, and `x` is the next word.
        if duplicates && self.peek() == Some(b'-') && !self.word_ends_at(1) {
            return Err(self.unparsed("something right after '&-'"));
        }
        // A number right before the next redirection belongs to that one.
        if descriptor_len(self.rest()) > 0 {
            return Err(self.unparsed("a redirection without a target"));
        }
        let read = self.word(Manner::Plain)?;
        if read.evaluates {
            self.evaluation(read.span);
        }
        let kind = match &read.word {
            Word::Known(target) if duplicates && is_descriptor(target) => kind,
            Word::Unknown { .. } if sign == "<&" => kind,
            _ if sign == "<&" => return Err(self.unparsed("an unusual descriptor")),
            _ if duplicates => RedirectKind::Write,
            _ => kind,
        };
        Ok((kind, read.word))
    }

    /// Reads the delimiter of a here-document, and returns the document's number.
    fn document(&mut self, drops_tabs: bool) -> Parsed<usize> {
        let start = self.pos;
        let length = self.rest().iter().take_while(|byte| !ends_word(Some(**byte))).count();
        let raw = &self.text[start..start + length];
        let unquoted = match raw.as_bytes() {
            [b'\'', .., b'\''] | [b'"', .., b'"'] if length > 2 => &raw[1..length - 1],
            [b'\\', ..] => &raw[1..],
            _ => raw,
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '!' | '+');
        if unquoted.is_empty() || !unquoted.chars().all(plain) {
            return Err(self.unparsed("an unusual end of a here-document"));
        }
        if self.awaited.len() == MAX_DOCUMENTS {
            return Err(self.unparsed("too many here-documents"));
        }
        // Bash 5.2 writes what it has read in a substitution down again, and after
        // a here-document it forgets semicolons: `b; c` becomes `b c`.
        if self.substitution.is_some_and(|depth| depth != self.depth) {
            return Err(self.unparsed("a here-document in a group in a substitution"));
        }
        // `<<1>x` would be a descriptor.
        if descriptor_len(self.rest()) > 0 {
            return Err(self.unparsed("a redirection without a target"));
        }
        self.pos += length;
        if !self.word_ends_at(0) {
            return Err(self.unparsed("an unusual end of a here-document"));
        }
        let document = self.documents.len();
        self.documents.push(Word::Unknown { raw: String::new() });
        self.awaited.push(Awaited {
            document,
            delimiter: unquoted.to_owned(),
            expands: unquoted.len() == length,
            drops_tabs,
            within: self.within.clone(),
        });
        Ok(document)
    }

    /// Sees to it that the line of a here-document in a substitution ends with
    /// the command that has it.
    pub(super) fn line_ends_after_document(&self) -> Parsed<()> {
        let goes_on = self.substitution.is_some() && !self.awaited.is_empty();
        if goes_on && self.peek() != Some(b'\n') {
            return Err(self.unparsed("something after a here-document in a substitution"));
        }
        Ok(())
    }

    pub(super) fn no_documents_left(&self) -> Parsed<()> {
        if self.awaited.is_empty() {
            return Ok(());
        }
        Err(self.unparsed("a here-document without its text"))
    }

    /// Reads the here-documents that begin here, at the start of a line.
    pub(super) fn read_documents(&mut self) -> Parsed<()> {
        let last = self.substitution.is_some() && !self.awaited.is_empty();
        for awaited in mem::take(&mut self.awaited) {
            let body = self.document_lines(&awaited)?;
            let word = if awaited.expands {
                self.document_text(body, awaited.drops_tabs, awaited.within)?
            } else if awaited.drops_tabs {
                let lines = self.text[body].split_inclusive('\n');
                Word::Known(lines.map(|line| line.trim_start_matches('\t')).collect())
            } else {
                Word::Known(self.text[body].to_owned())
            };
            self.documents[awaited.document] = word;
        }
        if last {
            self.skip_lines()?;
            if self.peek() != Some(b')') {
                return Err(self.unparsed("something after a here-document in a substitution"));
            }
        }
        Ok(())
    }

    /// Finds the lines of a here-document, and goes on after its end.
    fn document_lines(&mut self, awaited: &Awaited) -> Parsed<Range<usize>> {
        let start = self.pos;
        while self.pos < self.end {
            let rest = &self.text[self.pos..self.end];
            let raw = rest.split('\n').next().unwrap_or_default();
            let line = if awaited.drops_tabs { raw.trim_start_matches('\t') } else { raw };
            let begin = self.pos;
            let next = (begin + raw.len() + 1).min(self.end);
            if line == awaited.delimiter {
                self.pos = next;
                return Ok(start..begin);
            }
            // Bash takes `EOF)` for the end where that closes a substitution.
            if self.depth > 0 && line.starts_with(&awaited.delimiter) {
                return Err(self.unparsed("a line that looks like the end of a here-document"));
            }
            // It joins the lines before it looks for the end.
            if awaited.expands && line.ends_with('\\') {
                return Err(self.unparsed("an escaped line end in a here-document"));
            }
            self.pos = next;
        }
        Err(self.unparsed("a here-document without its end"))
    }

    /// Reads the text of a here-document that is expanded.
    fn document_text(
        &mut self,
        body: Range<usize>,
        drops_tabs: bool,
        within: Vec<super::Within>,
    ) -> Parsed<Word> {
        let within = mem::replace(&mut self.within, within);
        let mut piece = Piece::default();
        self.bounded(body.clone(), |parser| {
            parser.deeper(|parser| {
                while parser.peek().is_some() {
                    parser.document_part(drops_tabs, &mut piece)?;
                }
                Ok(())
            })
        })?;
        if piece.evaluates {
            self.evaluation(body.clone());
        }
        self.within = within;
        Ok(if piece.unknown {
            Word::Unknown { raw: self.text[body].to_owned() }
        } else {
            Word::Known(piece.value)
        })
    }

    fn document_part(&mut self, drops_tabs: bool, piece: &mut Piece) -> Parsed<()> {
        let start = self.pos;
        match self.peek() {
            Some(b'\\') if matches!(self.peek_at(1), Some(b'$' | b'`' | b'\\')) => {
                self.pos += 1;
                piece.value.push(self.take_char());
            }
            Some(b'$') => self.dollar(Place::Document, piece)?,
            Some(b'`') => {
                self.backquote(true)?;
                piece.unknown = true;
            }
            Some(b'\t') if drops_tabs && self.at_line_start() => while self.take("\t") {},
            _ => {
                piece.value.push(self.take_char());
                return Ok(());
            }
        }
        // Tabs would be dropped in there too.
        if drops_tabs && self.text[start..self.pos].contains('\n') {
            return Err(self.unparsed("a line end in an expansion of a here-document"));
        }
        Ok(())
    }

    fn at_line_start(&self) -> bool {
        self.text[..self.pos].ends_with('\n')
    }
}
