//! The words after a program, told apart: options, their values, and the rest.

use std::borrow::Cow;

use super::known::lists;
use super::known::options::{Options, Style};
use super::line::Word;

/// An option of a command.
#[derive(Debug, Clone)]
pub(crate) struct Flag<'a> {
    /// Its name with the dashes, in the spelling that is compared.
    pub(crate) name: Cow<'a, str>,
    /// Its value, attached or in the next word.
    pub(crate) value: Option<Word>,
    /// The option directly before it that might take it as its value.
    pub(crate) after: Option<Cow<'a, str>>,
    /// The letters before it in the same word.
    pub(crate) before: &'a str,
    /// Whether it stands before the first operand.
    pub(crate) global: bool,
    /// What it could be short for, in the spellings that are compared.
    pub(crate) short_for: Vec<&'static str>,
}

impl Flag<'_> {
    /// Returns whether the option is `wanted`, or a beginning of it that GNU
    /// programs accept.
    pub(crate) fn is(&self, wanted: &str) -> bool {
        self.name == wanted
            || self.short_for.contains(&wanted)
            || (self.name.len() > 2
                && self.name.starts_with("--")
                && wanted.starts_with(&*self.name))
    }
}

/// A word that is no option.
#[derive(Debug, Clone)]
pub(crate) struct Operand<'a> {
    /// The word.
    pub(crate) word: &'a Word,
    /// The option directly before it that might take it as its value.
    pub(crate) after: Option<Cow<'a, str>>,
}

/// The words after a program.
#[derive(Debug, Default)]
pub(crate) struct Args<'a> {
    pub(crate) flags: Vec<Flag<'a>>,
    pub(crate) operands: Vec<Operand<'a>>,
    /// Whether a `--` ends the options.
    pub(crate) ends: bool,
    /// Whether some word could be any number of any words.
    pub(crate) open: bool,
    /// How the subcommand reads what follows, where that is known.
    pub(crate) sub: Option<&'static Options>,
}

/// Returns whether a word could be an option, several words, or nothing.
pub(crate) fn is_open(word: &Word) -> bool {
    match word {
        Word::Known(_) => false,
        Word::Glob { fixed, .. } => fixed.is_empty() || fixed.starts_with('-'),
        Word::Unknown { .. } => true,
    }
}

impl<'a> Args<'a> {
    /// Tells the words after a program apart.
    pub(crate) fn read(words: &'a [Word], options: &'static Options) -> Self {
        let mut reader =
            Reader { args: Args::default(), globals: options, options, pending: None, takes: None };
        for (index, word) in words.iter().enumerate() {
            reader.word(index, word);
        }
        let Reader { mut args, globals, options, .. } = reader;
        for flag in &mut args.flags {
            let canonical = options.canonical(&flag.name).or_else(|| globals.canonical(&flag.name));
            match canonical {
                Some(name) => flag.name = Cow::Owned(name.to_owned()),
                None if flag.name.len() > 2 && flag.name.starts_with("--") => {
                    let same = options.same.iter().chain(globals.same);
                    let begins = same.filter(|(long, _)| long.starts_with(&*flag.name));
                    flag.short_for = begins.map(|(_, name)| *name).collect();
                }
                None => {}
            }
        }
        args
    }
}

struct Reader<'a> {
    args: Args<'a>,
    globals: &'static Options,
    options: &'static Options,
    /// An option that might take the next word.
    pending: Option<Cow<'a, str>>,
    /// The option that takes the next word.
    takes: Option<usize>,
}

impl<'a> Reader<'a> {
    fn word(&mut self, index: usize, word: &'a Word) {
        let pending = self.pending.take();
        if let Some(flag) = self.takes.take() {
            self.args.open |= word.known().is_none();
            self.args.flags[flag].value = Some(word.clone());
            return;
        }
        let text = match word {
            Word::Known(text) => text.as_str(),
            _ => {
                self.args.open |= is_open(word);
                self.args.operands.push(Operand { word, after: pending });
                return;
            }
        };
        let one_dash = self.options.style == Style::OneDash;
        if self.args.ends && !one_dash {
            self.args.operands.push(Operand { word, after: None });
        } else if text == "--" {
            self.args.ends = true;
        } else if text.starts_with("--") || (one_dash && text.starts_with('-') && text != "-") {
            self.long(text, pending);
        } else if text.starts_with('-') && text.len() > 1 {
            self.cluster(&text[1..], pending);
        } else if self.options.style == Style::OldTar && index == 0 {
            self.old(text);
        } else {
            // A word that an option may have taken leaves the next one to be first.
            let first = self.args.operands.iter().all(|operand| operand.after.is_some());
            self.args.operands.push(Operand { word, after: pending });
            if first
                && self.globals.subcommands
                && let Some(sub) = self.globals.sub(text)
            {
                self.options = sub;
                self.args.sub = Some(sub);
            }
        }
    }

    fn long(&mut self, text: &'a str, after: Option<Cow<'a, str>>) {
        // Programs with one dash take two as well.
        let one_dash = self.options.style == Style::OneDash;
        let text = if one_dash && text.starts_with("--") { &text[1..] } else { text };
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(Word::Known(value.to_owned()))),
            None => (text, None),
        };
        let attached = value.is_some();
        self.push(Cow::Borrowed(name), value, after, "");
        if attached {
            return;
        }
        if self.is(|o| o.values, name) {
            self.takes = Some(self.args.flags.len() - 1);
        } else if self.may_take(name) {
            self.pending = Some(self.spelling(name));
        }
    }

    fn cluster(&mut self, letters: &'a str, after: Option<Cow<'a, str>>) {
        for (at, letter) in letters.char_indices() {
            let name = format!("-{letter}");
            let rest = &letters[at + letter.len_utf8()..];
            let takes = self.is(|o| o.values, &name);
            let value = (takes && !rest.is_empty()).then(|| Word::Known(rest.to_owned()));
            let known = self.options.complete || self.is(|o| o.bare, &name) || takes;
            self.push(Cow::Owned(name.clone()), value, after.clone(), &letters[..at]);
            if takes {
                if rest.is_empty() {
                    self.takes = Some(self.args.flags.len() - 1);
                }
                return;
            }
            if rest.is_empty() && !known {
                let name = self.spelling(&name).into_owned();
                self.pending = Some(Cow::Owned(name));
            }
        }
    }

    /// Reads the first word of `tar xzf a`.
    fn old(&mut self, letters: &'a str) {
        for (at, letter) in letters.char_indices() {
            self.push(Cow::Owned(format!("-{letter}")), None, None, &letters[..at]);
        }
    }

    fn push(
        &mut self,
        name: Cow<'a, str>,
        value: Option<Word>,
        after: Option<Cow<'a, str>>,
        before: &'a str,
    ) {
        let global = self.args.operands.is_empty();
        self.args.flags.push(Flag { name, value, after, before, global, short_for: Vec::new() });
    }

    fn spelling<'n>(&self, name: &'n str) -> Cow<'n, str> {
        Cow::Borrowed(self.options.canonical(name).unwrap_or(name))
    }

    fn is(&self, list: impl Fn(&'static Options) -> &'static str, name: &str) -> bool {
        lists(list(self.options), name)
    }

    /// Returns whether an option that is not listed might take the next word.
    fn may_take(&self, name: &str) -> bool {
        if self.is(|o| o.bare, name) {
            return false;
        }
        // An abbreviation takes what the whole option takes.
        !self.options.complete
            || (name.len() > 2 && self.options.values.split(' ').any(|full| full.starts_with(name)))
    }
}
