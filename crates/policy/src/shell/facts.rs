//! What can be said about one command before any rule is looked at.

use super::args::{Args, Flag, is_open};
use super::known::hazards::{self, Hazard};
use super::known::options::{self, Options};
use super::known::{base_name, is_system, lists};
use super::line::{RedirectKind, Simple, Word};
use crate::path::AgentPath;

/// A command, read once for all the rules.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) simple: &'a Simple,
    /// The program as written; `None` where only the running shell knows it.
    pub(crate) program: Option<&'a str>,
    /// The last name of its path.
    pub(crate) name: &'a str,
    pub(crate) options: &'static Options,
    /// How its subcommand reads what follows, where that is known.
    pub(crate) sub: Option<&'static Options>,
    pub(crate) args: Args<'a>,
    pub(crate) hazards: Vec<Hazard>,
    /// What cannot be known of it, in words.
    pub(crate) unknown: Option<String>,
    /// Whether an earlier command may have changed the directory.
    pub(crate) moved: bool,
    /// Where the command starts.
    pub(crate) cwd: &'a AgentPath,
}

impl<'a> Facts<'a> {
    pub(crate) fn of(simple: &'a Simple, moved: bool, cwd: &'a AgentPath) -> Self {
        let program = simple.words.first().and_then(Word::known);
        let name = program.map_or("", base_name);
        let options = options::of(name);
        let args = Args::read(simple.words.get(1..).unwrap_or_default(), options);
        let sub = args.sub;
        let mut facts = Facts {
            simple,
            program,
            name,
            options,
            sub,
            args,
            hazards: Vec::new(),
            unknown: unknown(simple),
            moved,
            cwd,
        };
        let several = |flag: &Flag<'_>| matches!(flag.value, Some(Word::Glob { .. }));
        if facts.unknown.is_none() && facts.args.flags.iter().any(several) {
            facts.unknown = Some("the value of an option may be several words".to_owned());
        }
        facts.moved |= facts.args.flags.iter().any(|flag| lists(options.moves, &flag.name));
        facts.hazards = hazards::of(&facts);
        facts
    }

    /// Returns the spelling of an option that is compared.
    pub(crate) fn canonical<'n>(&self, name: &'n str) -> &'n str {
        let sub = self.sub.and_then(|sub| sub.canonical(name));
        sub.or_else(|| self.options.canonical(name)).unwrap_or(name)
    }

    /// Returns whether every option that takes the next word is known.
    pub(crate) fn complete(&self) -> bool {
        self.sub.unwrap_or(self.options).complete
    }

    /// Returns whether the program is found by name, or is the system's own.
    pub(crate) fn is_system(&self) -> bool {
        self.program.is_some_and(is_system)
    }

    /// Returns the text of the operand with that number.
    pub(crate) fn operand(&self, index: usize) -> Option<&str> {
        self.args.operands.get(index).and_then(|operand| operand.word.known())
    }

    /// Returns whether the command has an option, in whole or abbreviated.
    pub(crate) fn has_flag(&self, name: &str) -> bool {
        self.args.flags.iter().any(|flag| flag.is(name))
    }
}

/// Returns what of a command only the running shell knows.
fn unknown(simple: &Simple) -> Option<String> {
    if simple.redefined {
        let name = simple.words.first().map(Word::to_string).unwrap_or_default();
        return Some(format!("the line itself defines '{name}'"));
    }
    for (index, word) in simple.words.iter().enumerate() {
        let whole = index == 0 && !matches!(word, Word::Known(_));
        if whole || is_open(word) {
            let what = if index == 0 { "the program" } else { "an argument" };
            return Some(format!("{what} is '{word}', which only the running shell knows"));
        }
    }
    let read = simple
        .redirects
        .iter()
        .find(|redirect| redirect.kind == RedirectKind::Read && redirect.target.known().is_none());
    read.map(|redirect| {
        format!("it reads '{}', which only the running shell knows", redirect.target)
    })
}
