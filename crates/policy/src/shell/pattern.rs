//! Patterns of commands: what they are written as, and what they match.
//!
//! A pattern is compiled once, when a file is read. It speaks of words, never of
//! text: how a command is quoted, spaced or spelt makes no difference, and what
//! is not known about a command can only make a rule that blocks it apply.

use std::fmt;

use super::args::{Args, Flag, is_open};
use super::facts::Facts;
use super::known::options::{self, Options};
use super::known::{base_name, hazards::Hazard};
use super::line::Word;
use crate::path::AgentPath;
use crate::view::View;

/// Whether a pattern matches a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Match {
    /// It does not.
    No,
    /// It might, depending on what only the running shell knows.
    Maybe,
    /// It does.
    Yes,
}

/// What a match is used for: doubt has to fall on the safe side of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To let the command run, with or without a question.
    Allow,
    /// To keep it from running.
    Block,
}

/// Why a text is no pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// There is nothing in it.
    #[error("the pattern is empty")]
    Empty,
    /// A quote is not closed.
    #[error("a quote in the pattern is not closed")]
    Quote,
    /// It has a character that ends a command.
    #[error("the pattern has '{0}', and a pattern is for one command")]
    Operator(char),
    /// It has an expansion.
    #[error("the pattern has '{0}', and nothing in a pattern is replaced")]
    Expansion(char),
    /// The path of its program is not fixed.
    #[error("the pattern has '{0}' in the path of its program")]
    PathGlob(char),
    /// It has too many alternatives.
    #[error("the pattern has more than {MAX_CHOICES} alternatives in one word")]
    Choices,
}

impl PatternError {
    /// Returns what to write instead.
    pub fn hint(self) -> &'static str {
        match self {
            PatternError::Empty => "write the words that the command starts with",
            PatternError::Quote => "close the quote, or write a backslash before it",
            PatternError::Operator(_) => {
                "write a rule for each command; every command of a line is looked at by itself"
            }
            PatternError::Expansion(_) => "put the word in single quotes, or write * for any text",
            PatternError::PathGlob(_) => "write the whole path, or the name alone",
            PatternError::Choices => "write several rules",
        }
    }
}

/// The most alternatives that one word can have.
const MAX_CHOICES: usize = 64;

/// A compiled pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    /// One for each program that it is for, since each reads its words its own way.
    forms: Vec<Form>,
    /// The zones that lie at their host paths.
    tops: Vec<AgentPath>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Form {
    assignments: Vec<(String, Text)>,
    program: Program,
    /// Where a relative path of the program starts.
    from: AgentPath,
    flags: Vec<FlagNeed>,
    operands: Vec<OperandNeed>,
    /// Whether it has a `--`.
    ends: bool,
    /// Whether it names writing to files by redirection.
    writes: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Program {
    /// None: assignments alone.
    None,
    /// By name, wherever it lies.
    Name(Text),
    /// By its path.
    Path(String),
}

impl Program {
    /// Returns one program for each of the names it could have.
    fn each(self) -> Vec<Program> {
        match self {
            Program::Name(Text::Choices(choices)) if choices.iter().all(|c| c.len() == 1) => {
                let names = choices.into_iter().flatten();
                names.map(|name| Program::Name(Text::Literal(name))).collect()
            }
            program => vec![program],
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct FlagNeed {
    name: Text,
    value: Option<Text>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct OperandNeed {
    text: Text,
    after: Option<String>,
}

/// What one word has to be.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Text {
    Literal(String),
    /// One of these; each is the parts between the stars.
    Choices(Vec<Vec<String>>),
}

impl Text {
    fn literal(&self) -> Option<&str> {
        match self {
            Text::Literal(text) => Some(text),
            Text::Choices(_) => None,
        }
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Text::Literal(literal) => literal == text,
            Text::Choices(choices) => choices.iter().any(|parts| star(parts, text)),
        }
    }

    /// Returns whether it stands for some of the paths in a directory.
    fn is_path(&self) -> bool {
        matches!(self, Text::Choices(choices)
            if choices.iter().flatten().any(|part| part.contains('/')))
    }

    /// Returns whether any word does.
    fn is_any(&self) -> bool {
        matches!(self, Text::Choices(choices)
            if choices.iter().any(|parts| parts.len() > 1 && parts.iter().all(String::is_empty)))
    }

    /// Returns whether a word does, as far as it is known.
    fn compare(&self, word: &Word) -> Match {
        match word {
            // The star of a path does not lead out of it.
            Word::Known(text) if self.matches(text) => match self.is_path() && climbs(text) {
                true => Match::Maybe,
                false => Match::Yes,
            },
            Word::Known(_) => Match::No,
            Word::Glob { .. } if self.is_any() => Match::Yes,
            Word::Glob { fixed, .. } => match self {
                Text::Literal(text) if !text.starts_with(fixed.as_str()) => Match::No,
                _ => Match::Maybe,
            },
            Word::Unknown { .. } => Match::Maybe,
        }
    }
}

/// Matches text against parts with any text between them.
fn star(parts: &[String], text: &str) -> bool {
    let [first, rest @ ..] = parts else { return text.is_empty() };
    let Some(mut text) = text.strip_prefix(first.as_str()) else { return false };
    let [middle @ .., last] = rest else { return text.is_empty() };
    for part in middle {
        match text.find(part.as_str()) {
            Some(at) => text = &text[at + part.len()..],
            None => return false,
        }
    }
    text.len() >= last.len() && text.ends_with(last.as_str())
}

/// A character of a pattern, and whether it stands for itself.
type Char = (char, bool);

impl Pattern {
    /// Compiles a pattern.
    pub fn parse(text: &str) -> Result<Pattern, PatternError> {
        let mut tokens = split(text)?;
        let plain = |token: &[Char]| -> String { token.iter().map(|(c, _)| c).collect() };
        // A pattern is a prefix anyway: a last `*` says what holds without it.
        let is_star = |token: &Vec<Char>| token.as_slice() == [('*', false)];
        while tokens.len() > 1 && tokens.last().is_some_and(is_star) {
            tokens.pop();
        }
        let is_redirect =
            |token: &Vec<Char>| !token.is_empty() && token.iter().all(|c| *c == ('>', false));
        let writes = tokens.iter().any(is_redirect);
        tokens.retain(|token| !is_redirect(token));
        if let Some((c, _)) = tokens.iter().flatten().find(|c| **c == ('>', false)) {
            return Err(PatternError::Operator(*c));
        }
        let mut assignments = Vec::new();
        while let Some(token) = tokens.first()
            && let Some(at) = assignment(token)
        {
            let value = compile(&token[at + 1..])?;
            assignments.push((plain(&token[..at]), value));
            tokens.remove(0);
        }
        let mut tokens = tokens.into_iter();
        let program = match tokens.next() {
            None if assignments.is_empty() => return Err(PatternError::Empty),
            None => Program::None,
            Some(token) if token.is_empty() => return Err(PatternError::Empty),
            Some(token) if token.iter().any(|(c, _)| *c == '/') => {
                if let Some((c, _)) = token.iter().find(|c| matches!(c, ('*' | '{', false))) {
                    return Err(PatternError::PathGlob(*c));
                }
                Program::Path(plain(&token))
            }
            Some(token) => Program::Name(compile(&token)?),
        };
        let tokens: Vec<Vec<Char>> = tokens.collect();
        let mut forms = Vec::new();
        for program in program.each() {
            let options = match &program {
                Program::Name(Text::Literal(name)) => options::of(name),
                Program::Path(path) => options::of(base_name(path)),
                _ => &options::UNKNOWN,
            };
            let mut form = Form {
                assignments: assignments.clone(),
                program,
                from: AgentPath::root(),
                flags: Vec::new(),
                operands: Vec::new(),
                ends: false,
                writes,
            };
            form.read(&tokens, options)?;
            forms.push(form);
        }
        Ok(Pattern { text: text.trim().to_owned(), forms, tops: Vec::new() })
    }

    /// Returns the pattern as it is written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the names of the programs it is for; `None` when it could be any.
    pub(crate) fn programs(&self) -> Option<Vec<&str>> {
        let name = |form| match form {
            &Form { program: Program::Name(Text::Literal(ref name)), .. } => Some(name.as_str()),
            Form { program: Program::Path(path), .. } => Some(base_name(path)),
            _ => None,
        };
        self.forms.iter().map(name).collect()
    }

    /// Returns the pattern with a relative path of its program starting in `dir`:
    /// the working directory of whoever wrote it, so that a worker with another
    /// one does not change what its caller's rules are for.
    pub(crate) fn anchored(mut self, dir: &AgentPath) -> Self {
        for form in &mut self.forms {
            form.from = dir.clone();
        }
        self
    }

    /// Returns the pattern with `/NAME` of each zone that lies at its host path replaced
    /// by that path, which is how commands write it.
    pub(crate) fn placed(mut self, view: &View) -> Self {
        for form in &mut self.forms {
            if let Program::Path(path) = &mut form.program {
                view.place_text(path);
            }
            let values = form.flags.iter_mut().filter_map(|flag| flag.value.as_mut());
            let assigned = form.assignments.iter_mut().map(|(_, value)| value);
            let operands = form.operands.iter_mut().map(|operand| &mut operand.text);
            for text in values.chain(assigned).chain(operands) {
                match text {
                    Text::Literal(text) => view.place_text(text),
                    Text::Choices(choices) => {
                        let first = choices.iter_mut().filter_map(|parts| parts.first_mut());
                        first.for_each(|text| view.place_text(text));
                    }
                }
            }
        }
        self.tops = view.tops();
        self
    }

    /// Returns the top of the zone that a directory lies in.
    pub(crate) fn top_of(&self, dir: &AgentPath) -> AgentPath {
        let own = self.tops.iter().find(|top| dir.below(top).is_some());
        match (own, dir.split_first()) {
            (Some(top), _) => top.clone(),
            (None, Some((name, _))) => AgentPath::root().join(name),
            (None, None) => AgentPath::root(),
        }
    }

    /// Compares a command with the pattern.
    pub(crate) fn compare(&self, facts: &Facts<'_>, purpose: Purpose) -> Match {
        self.forms.iter().map(|form| form.compare(facts, purpose)).max().unwrap_or(Match::No)
    }

    /// Returns the form for a command's program.
    fn form(&self, facts: &Facts<'_>) -> Option<&Form> {
        self.forms.iter().find(|form| form.compare_program(facts, Purpose::Block) != Match::No)
    }

    /// Returns whether the pattern names a hazard of a command.
    pub(crate) fn names(&self, hazard: &Hazard, facts: &Facts<'_>) -> bool {
        self.form(facts).is_some_and(|form| form.names(hazard, facts))
    }

    /// Returns how many operands of a command the pattern itself has.
    pub(crate) fn own_operands(&self, facts: &Facts<'_>) -> usize {
        self.form(facts).map_or(0, |form| form.operands.len())
    }

    /// Returns whether the pattern says what the value of an option is.
    pub(crate) fn sets(&self, flag: &str, facts: &Facts<'_>) -> bool {
        let set = |need: &FlagNeed| need.name.literal() == Some(flag) && need.value.is_some();
        self.form(facts).is_some_and(|form| form.flags.iter().any(set))
    }

    /// Returns the words of a command that the pattern matches, for comparing
    /// patterns.
    pub(crate) fn sample(&self) -> Vec<String> {
        let tokens = split(&self.text).unwrap_or_default();
        let words = tokens.iter().map(|token| token.iter().map(|(c, _)| c).collect::<String>());
        words.filter(|word| word != "*" && !word.starts_with('>')).collect()
    }
}

impl Form {
    /// Reads the tokens as the words of a command are read.
    fn read(
        &mut self,
        tokens: &[Vec<Char>],
        options: &'static Options,
    ) -> Result<(), PatternError> {
        // What stands for itself is hidden behind a mark, so that both survive
        // being told apart into options and values.
        let (globs, tokens): (Vec<_>, Vec<_>) =
            tokens.iter().partition(|token| is_glob_flag(token));
        for token in globs {
            self.flags.push(FlagNeed { name: compile(token)?, value: None });
        }
        let words: Vec<Word> = tokens.iter().map(|token| Word::Known(marked(token))).collect();
        let args = Args::read(&words, options);
        self.ends = args.ends;
        for flag in &args.flags {
            let value = match &flag.value {
                Some(value) => Some(compile(&unmarked(value.known().unwrap_or_default()))?),
                None => None,
            };
            let name = compile(&unmarked(&flag.name))?;
            let need = FlagNeed { name, value };
            if !self.flags.contains(&need) {
                self.flags.push(need);
            }
        }
        for operand in &args.operands {
            let text = compile(&unmarked(operand.word.known().unwrap_or_default()))?;
            let after = operand.after.as_ref().map(|after| plain_of(after));
            self.operands.push(OperandNeed { text, after });
        }
        Ok(())
    }

    fn compare(&self, facts: &Facts<'_>, purpose: Purpose) -> Match {
        let program = self.compare_program(facts, purpose);
        if program == Match::No || (facts.program.is_none() && self.program != Program::None) {
            return program;
        }
        let mut worst = program;
        for (name, value) in &self.assignments {
            let held = facts.simple.assignments.iter().rev().find(|(held, _)| held == name);
            worst = worst.min(held.map_or(Match::No, |(_, word)| value.compare(word)));
        }
        for flag in &self.flags {
            worst = worst.min(self.compare_flag(flag, facts, purpose));
        }
        if self.ends && !facts.args.ends {
            worst = worst.min(if facts.args.open { Match::Maybe } else { Match::No });
        }
        match worst {
            Match::No => Match::No,
            _ => worst.min(self.compare_operands(facts, purpose)),
        }
    }

    fn compare_program(&self, facts: &Facts<'_>, purpose: Purpose) -> Match {
        let yes = |matches| if matches { Match::Yes } else { Match::No };
        let Some(program) = facts.program else {
            return match &self.program {
                Program::None => yes(facts.simple.words.is_empty()),
                _ if facts.simple.words.is_empty() => Match::No,
                _ => Match::Maybe,
            };
        };
        match &self.program {
            Program::None => Match::No,
            Program::Name(name) => {
                let trusted = purpose == Purpose::Block || facts.is_system();
                yes(trusted && name.matches(facts.name))
            }
            Program::Path(path) => {
                if !program.contains('/') {
                    return Match::No;
                }
                let absolute = |text: &str| text.starts_with('/');
                if facts.moved && !absolute(program) {
                    let same = base_name(path) == facts.name;
                    return if same { Match::Maybe } else { Match::No };
                }
                let at = |text: &str, base: &AgentPath| resolve(text, base);
                let lies = at(program, facts.cwd);
                let wanted = at(path, &self.from);
                let also = (purpose == Purpose::Block).then(|| at(path, facts.cwd)).flatten();
                yes(lies.is_some() && (lies == wanted || (also.is_some() && lies == also)))
            }
        }
    }

    fn compare_flag(&self, need: &FlagNeed, facts: &Facts<'_>, purpose: Purpose) -> Match {
        let mut best = Match::No;
        for flag in &facts.args.flags {
            let named = match (&need.name, purpose) {
                (Text::Literal(name), Purpose::Block) => flag.is(facts.canonical(name)),
                (Text::Literal(name), Purpose::Allow) => flag.name == facts.canonical(name),
                (name, _) => name.matches(&flag.name),
            };
            if !named || (purpose == Purpose::Allow && !self.is_certain(flag, facts)) {
                continue;
            }
            let value = match (&need.value, &flag.value) {
                (None, _) => Match::Yes,
                (Some(wanted), Some(held)) => wanted.compare(held),
                (Some(_), None) => Match::No,
            };
            best = best.max(value);
        }
        // What an option means is not clear before the subcommand is.
        let unclear = purpose == Purpose::Block && facts.options.subcommands && {
            facts.args.operands.first().is_some_and(|operand| operand.word.known().is_none())
        };
        if best == Match::No && (facts.args.open || unclear) { Match::Maybe } else { best }
    }

    /// Returns whether an option surely is one: in a program of which not all
    /// options are known, it may be the value of the one before it.
    fn is_certain(&self, flag: &Flag<'_>, facts: &Facts<'_>) -> bool {
        let own = |name: &str| self.flags.iter().any(|need| need.name.matches(name));
        facts.complete()
            || (flag.after.as_ref().is_none_or(|after| own(after))
                && flag.before.chars().all(|letter| own(&format!("-{letter}"))))
    }

    fn compare_operands(&self, facts: &Facts<'_>, purpose: Purpose) -> Match {
        let held = &facts.args.operands;
        let straight = self.operands.len() <= held.len()
            && self.operands.iter().zip(held).all(|(need, operand)| {
                let certain =
                    purpose == Purpose::Block || need.after.as_deref() == operand.after.as_deref();
                certain && need.text.compare(operand.word) == Match::Yes
            });
        // A word that might be several moves all that follow it.
        let clear = held
            .iter()
            .take(self.operands.len())
            .all(|operand| matches!(operand.word, Word::Known(_)))
            || (purpose == Purpose::Allow && {
                let last = self.operands.len().saturating_sub(1);
                held.iter().take(last).all(|operand| matches!(operand.word, Word::Known(_)))
            });
        if straight && clear {
            Match::Yes
        } else if self.possible(facts) {
            Match::Maybe
        } else {
            Match::No
        }
    }

    /// Returns whether some reading of the command matches: options may take the
    /// word after them, and what is not known may be any words.
    fn possible(&self, facts: &Facts<'_>) -> bool {
        let held = &facts.args.operands;
        // The needs that could be met so far, as a set of counts.
        let mut met = vec![false; self.operands.len() + 1];
        met[0] = true;
        if self.operands.is_empty() {
            return true;
        }
        for operand in held {
            let mut next = vec![false; met.len()];
            for (count, _) in met.iter().enumerate().filter(|(_, met)| **met) {
                let Some(need) = self.operands.get(count) else { return true };
                if operand.after.is_some() {
                    next[count] = true;
                }
                match operand.word {
                    Word::Known(_) => {
                        if need.text.compare(operand.word) == Match::Yes {
                            next[count + 1] = true;
                        }
                    }
                    // Several words, or none.
                    _ => {
                        let none = is_open(operand.word);
                        next[count] |= none;
                        for (ahead, need) in self.operands.iter().enumerate().skip(count) {
                            if need.text.compare(operand.word) == Match::No {
                                break;
                            }
                            next[ahead + 1] = true;
                        }
                    }
                }
            }
            met = next;
            if met.last() == Some(&true) {
                return true;
            }
        }
        // A value that is not known may end in further words.
        met.last() == Some(&true)
            || (facts.args.open && met.iter().any(|met| *met) && has_open_value(facts))
    }

    fn names(&self, hazard: &Hazard, facts: &Facts<'_>) -> bool {
        let what = hazard.what.as_str();
        if what == ">" {
            return self.writes
                && facts.simple.redirects.iter().all(|redirect| redirect.target.known().is_some());
        }
        if let Some(name) = what.strip_suffix('=') {
            return self.assignments.iter().any(|(named, _)| named == name);
        }
        let program = match &self.program {
            Program::Name(Text::Literal(name)) => name == what,
            Program::Path(path) => base_name(path) == what,
            _ => false,
        };
        let flag = self.flags.iter().any(|flag| {
            flag.name.literal() == Some(what)
                && flag.value.as_ref().is_none_or(|wanted| {
                    let held: Vec<_> = facts.args.flags.iter().filter(|h| h.is(what)).collect();
                    // Twice the same value may lead further: `-C sub -C sub`.
                    held.len() == 1
                        && held
                            .iter()
                            .filter_map(|held| held.value.as_ref())
                            .all(|value| wanted.compare(value) == Match::Yes)
                })
        });
        program || flag || self.operands.iter().any(|operand| operand.text.literal() == Some(what))
    }
}

fn has_open_value(facts: &Facts<'_>) -> bool {
    let open = |word: &Word| word.known().is_none();
    facts.args.flags.iter().any(|flag| flag.value.as_ref().is_some_and(open))
}

/// Returns whether a path climbs up again.
fn climbs(text: &str) -> bool {
    text.split('/').any(|name| name == "..")
}

/// Returns a path from its text.
fn resolve(text: &str, base: &AgentPath) -> Option<AgentPath> {
    // A tilde in a word stands for itself.
    let dotted = if text.starts_with('/') { text.to_owned() } else { format!("./{text}") };
    AgentPath::parse(&dotted, base, &AgentPath::root()).ok()
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Splits a pattern into words, as a shell splits a command.
fn split(text: &str) -> Result<Vec<Vec<Char>>, PatternError> {
    let mut tokens = Vec::new();
    let mut token: Option<Vec<Char>> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => tokens.extend(token.take()),
            '\'' | '"' => {
                let token = token.get_or_insert_default();
                loop {
                    match chars.next() {
                        None => return Err(PatternError::Quote),
                        Some(end) if end == c => break,
                        Some('\\') if c == '"' => {
                            token.push((chars.next().ok_or(PatternError::Quote)?, true));
                        }
                        Some(inside) => token.push((inside, true)),
                    }
                }
            }
            '\\' => {
                let next = chars.next().ok_or(PatternError::Quote)?;
                token.get_or_insert_default().push((next, true));
            }
            '|' | ';' | '&' | '<' | '(' | ')' => return Err(PatternError::Operator(c)),
            '$' | '`' => return Err(PatternError::Expansion(c)),
            c => token.get_or_insert_default().push((c, false)),
        }
    }
    tokens.extend(token);
    if tokens.is_empty() { Err(PatternError::Empty) } else { Ok(tokens) }
}

/// Returns whether a word is an option whose name is not fixed.
fn is_glob_flag(token: &[Char]) -> bool {
    let name = token.split(|(c, _)| *c == '=').next().unwrap_or_default();
    name.first().is_some_and(|(c, _)| *c == '-')
        && name.iter().any(|(c, quoted)| !quoted && matches!(c, '*' | '{'))
}

/// Returns where the `=` of an assignment is.
fn assignment(token: &[Char]) -> Option<usize> {
    let at = token.iter().position(|(c, _)| *c == '=')?;
    let name = &token[..at];
    let start = name.first().is_some_and(|(c, _)| c.is_ascii_alphabetic() || *c == '_');
    let plain = name.iter().all(|(c, quoted)| !quoted && (c.is_ascii_alphanumeric() || *c == '_'));
    (start && plain).then_some(at)
}

/// Marks the special characters of a word, so that it can be handled as text.
const MARK: char = '\u{1}';

fn marked(token: &[Char]) -> String {
    let mut out = String::new();
    for (c, quoted) in token {
        if !quoted && matches!(c, '*' | '{' | '}' | ',') {
            out.push(MARK);
        }
        out.push(*c);
    }
    out
}

fn unmarked(text: &str) -> Vec<Char> {
    let mut out = Vec::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            MARK => out.extend(chars.next().map(|c| (c, false))),
            c => out.push((c, true)),
        }
    }
    out
}

fn plain_of(text: &str) -> String {
    unmarked(text).into_iter().map(|(c, _)| c).collect()
}

/// Compiles one word.
fn compile(token: &[Char]) -> Result<Text, PatternError> {
    let special = |c: &Char| !c.1 && matches!(c.0, '*' | '{');
    if !token.iter().any(special) {
        return Ok(Text::Literal(token.iter().map(|(c, _)| c).collect()));
    }
    let mut choices = vec![Vec::new()];
    expand(token, &mut choices)?;
    let parts = |choice: &Vec<Char>| -> Vec<String> {
        choice
            .split(|c| *c == ('*', false))
            .map(|part| part.iter().map(|(c, _)| c).collect())
            .collect()
    };
    let mut all: Vec<Vec<String>> = choices.iter().map(parts).collect();
    all.dedup();
    match all.as_slice() {
        [one] if one.len() == 1 => Ok(Text::Literal(one[0].clone())),
        _ => Ok(Text::Choices(all)),
    }
}

/// Adds a word to each of the choices so far, once for each of its alternatives.
fn expand(token: &[Char], choices: &mut Vec<Vec<Char>>) -> Result<(), PatternError> {
    let Some((open, close)) = braces(token) else {
        choices.iter_mut().for_each(|choice| choice.extend_from_slice(token));
        return Ok(());
    };
    choices.iter_mut().for_each(|choice| choice.extend_from_slice(&token[..open]));
    let before = std::mem::take(choices);
    for part in alternatives(&token[open + 1..close]) {
        let mut longer = before.clone();
        expand(part, &mut longer)?;
        choices.append(&mut longer);
        if choices.len() > MAX_CHOICES {
            return Err(PatternError::Choices);
        }
    }
    expand(&token[close + 1..], choices)
}

/// Finds the first pair of braces with a comma between them.
fn braces(token: &[Char]) -> Option<(usize, usize)> {
    for (open, _) in token.iter().enumerate().filter(|(_, c)| **c == ('{', false)) {
        let mut depth = 0;
        let mut comma = false;
        for (at, c) in token.iter().enumerate().skip(open) {
            match c {
                ('{', false) => depth += 1,
                (',', false) if depth == 1 => comma = true,
                ('}', false) => {
                    depth -= 1;
                    if depth == 0 {
                        if comma {
                            return Some((open, at));
                        }
                        break;
                    }
                }
                _ => {}
            }
        }
    }
    None
}

/// Splits what stands in braces at its commas.
fn alternatives(inside: &[Char]) -> Vec<&[Char]> {
    let mut parts = Vec::new();
    let (mut start, mut depth) = (0, 0);
    for (at, c) in inside.iter().enumerate() {
        match c {
            ('{', false) => depth += 1,
            ('}', false) => depth -= 1,
            (',', false) if depth == 0 => {
                parts.push(&inside[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inside[start..]);
    parts
}
