//! By what a program does more than its name says: options, arguments and
//! subcommands that run other programs, write files or change what follows.
//!
//! A rule that allows a program without a question does not cover these, unless
//! its pattern names them.

mod elsewhere;
mod scripts;
mod table;

use std::collections::HashMap;
use std::sync::LazyLock;

pub(crate) use scripts::printf_assigns;

use crate::shell::args::Flag;
use crate::shell::facts::Facts;
use crate::shell::known::{lists, without_version, wrappers};
use crate::shell::line::{RedirectKind, Word};

/// Something a command does beyond what its name says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hazard {
    /// The option, word or operator that does it; a pattern with it names it.
    pub what: String,
    /// What it does; follows "it".
    pub why: &'static str,
    /// Whether all it does is to have the program work somewhere else.
    pub moves: bool,
}

/// Commands that have the shell, or git, read a text again as a command.
const READS_AGAIN: &str = "source . alias hash enable mapfile readarray compgen \
                           complete fc bind coproc declare typeset let jobs";

/// Returns whether a command hides another one in a text, so that rules that
/// block cannot be compared with it.
pub(crate) fn hides(facts: &Facts<'_>) -> bool {
    let reads_again = READS_AGAIN.split_whitespace().any(|name| name == facts.name);
    let git = facts.name == "git"
        && facts.args.flags.iter().any(|flag| {
            flag.global && matches!(&*flag.name, "-c" | "--config-env" | "--exec-path")
        });
    // Without words, these only show something.
    reads_again && facts.simple.words.len() > 1 || git
}

/// What makes a command dangerous.
enum What {
    /// The program as such.
    Program,
    /// Any of these options.
    Flags(&'static str),
    /// Any option that begins so, of a program that does not take letters apart.
    FlagBegins(&'static str),
    /// One of these as the first operand.
    Sub(&'static str),
    /// Any of these options before the first operand.
    Globals(&'static str),
    /// Any of these options after one of these first operands.
    SubFlags(&'static str, &'static str),
    /// More operands than so many.
    Operands(usize),
    /// No operand at all: the program reads what it runs.
    NoOperand,
    /// An operand that begins so.
    Begins(&'static str),
    /// An operand, or the value of one of these options, that looks so.
    Text(&'static str, fn(&str) -> bool),
    /// A script that looks so: the values of the first option or, where neither
    /// option is there, the first operand.
    Script(&'static str, &'static str, fn(&str) -> bool),
}

use What::{
    Begins, FlagBegins, Flags, Globals, NoOperand, Operands, Program, Script, Sub, SubFlags, Text,
};

/// Programs, what makes them dangerous, and why. Lists are separated by spaces.
type Row = (&'static str, What, &'static str);

const RUNS: &str = "runs another program";
const WRITES: &str = "writes a file";
const CHANGES: &str = "changes what the rest of the line does";
const READS_CODE: &str = "runs what it reads";
const ELSEWHERE: &str = "works in another directory";
const OTHER_RULES: &str = "takes its rules from another file";

/// The rows of a table, by program.
type ByName = HashMap<&'static str, Vec<&'static Row>>;

static BY_NAME: LazyLock<ByName> = LazyLock::new(|| by_name(table::TABLE));
static MOVES_BY_NAME: LazyLock<ByName> = LazyLock::new(|| by_name(elsewhere::TABLE));

fn by_name(table: &'static [Row]) -> ByName {
    let mut rows = ByName::new();
    for row in table {
        for name in row.0.split(' ') {
            rows.entry(name).or_default().push(row);
        }
    }
    rows
}

/// Returns the rows for a program, or for the one that it is a version of:
/// `python3.11` is a `python`.
fn rows(table: &'static ByName, name: &str) -> &'static [&'static Row] {
    let plain = without_version(name);
    let found = table.get(name).or_else(|| table.get(plain));
    found.map(Vec::as_slice).unwrap_or_default()
}

/// Returns whether a program does other work in another directory.
pub(crate) fn depends_on_directory(name: &str) -> bool {
    !rows(&MOVES_BY_NAME, name).is_empty()
}

/// Variables that change only how things look.
const HARMLESS: &[&str] = &[
    "LC_ALL",
    "LANG",
    "LANGUAGE",
    "LC_CTYPE",
    "LC_COLLATE",
    "LC_MESSAGES",
    "LC_NUMERIC",
    "LC_TIME",
    "TZ",
    "NO_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "FORCE_COLOR",
    "TERM",
    "COLUMNS",
    "LINES",
    "CI",
    "RUST_BACKTRACE",
    "CARGO_TERM_COLOR",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "DEBIAN_FRONTEND",
    "GIT_TERMINAL_PROMPT",
    "GIT_OPTIONAL_LOCKS",
];

/// Files that a command can write without writing anything.
const NOWHERE: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr"];

/// Returns everything that a command does beyond what its name says.
pub(crate) fn of(facts: &Facts<'_>) -> Vec<Hazard> {
    let mut found: Vec<Hazard> = Vec::new();
    let mut put = |what: &str, why, moves| {
        let hazard = Hazard { what: what.to_owned(), why, moves };
        if !found.contains(&hazard) {
            found.push(hazard);
        }
    };
    for (_, what, why) in rows(&MOVES_BY_NAME, facts.name) {
        shows(facts, what, |what| put(what, why, true));
    }
    let mut add = |what: &str, why| put(what, why, false);
    for (_, what, why) in rows(&BY_NAME, facts.name) {
        shows(facts, what, |what| add(what, why));
    }
    if wrappers::is_opaque(facts.name) {
        add(facts.name, RUNS);
    }
    if wrappers::is_shell(facts.name) && wrappers::reads_commands(facts.simple) {
        add("-s", READS_CODE);
    }
    for redirect in &facts.simple.redirects {
        let target = redirect.target.known();
        match redirect.kind {
            RedirectKind::Write | RedirectKind::Append | RedirectKind::Both => {
                if !target.is_some_and(|target| NOWHERE.contains(&target)) {
                    add(">", WRITES);
                }
            }
            RedirectKind::Duplicate => {
                let number = |text: &str| {
                    let digits = text.strip_suffix('-').unwrap_or(text);
                    digits.bytes().all(|b| b.is_ascii_digit())
                };
                if !target.is_some_and(number) {
                    add(">", WRITES);
                }
            }
            RedirectKind::Read => {
                let net = ["/dev/tcp/", "/dev/udp/"];
                if target.is_some_and(|target| net.iter().any(|dir| target.starts_with(dir))) {
                    add("<", "opens a connection");
                }
            }
            RedirectKind::Text => {}
        }
    }
    for (name, value) in &facts.simple.assignments {
        let plain = value.known().is_some_and(|value| !value.contains('/'));
        match name.as_str() {
            // A wrapper that takes variables away or changes the directory, with its option.
            name if name.contains(' ') => add(name, CHANGES),
            name if HARMLESS.contains(&name) && plain => {}
            name => add(&format!("{name}="), CHANGES),
        }
    }
    found
}

fn shows(facts: &Facts<'_>, what: &What, mut add: impl FnMut(&str)) {
    let flags = &facts.args.flags;
    let operands = || facts.args.operands.iter().filter_map(|operand| operand.word.known());
    // Any operand that an option may have taken leaves the next one to be first.
    let taken = facts.args.operands.iter().take_while(|operand| operand.after.is_some()).count();
    let firsts = || operands_of(facts).take(taken + 1).flatten();
    let sub_of = |subs: &str| firsts().find(|first| lists(subs, first));
    match what {
        Flags(list) => any_flag(flags, list, add),
        Globals(list) => any_flag(flags.iter().filter(|flag| flag.global), list, add),
        SubFlags(subs, list) if sub_of(subs).is_some() => any_flag(flags, list, add),
        FlagBegins(list) => {
            for flag in flags {
                if list.split(' ').any(|begin| flag.name.starts_with(begin)) {
                    add(&flag.name);
                }
            }
        }
        Program => add(facts.name),
        Sub(subs) => {
            if let Some(sub) = sub_of(subs) {
                add(sub);
            }
        }
        SubFlags(..) => {}
        Operands(most) => {
            // A pattern for names may be several of them.
            let operands = &facts.args.operands;
            let several = operands.iter().find(|operand| operand.word.known().is_none());
            if let Some(operand) = operands.get(*most).or(several) {
                add(&operand.word.to_string());
            }
        }
        NoOperand => {
            // An option that prints and ends needs no operand.
            let looks = ["--version", "-version", "-V", "-v", "--help", "-help", "-h"];
            let reads =
                |word: &Word| matches!(word.known(), Some("-" | "/dev/stdin" | "/dev/fd/0"));
            if facts.args.operands.first().is_none_or(|operand| reads(operand.word))
                && !flags.iter().any(|flag| looks.contains(&&*flag.name))
            {
                add(facts.name);
            }
        }
        Begins(list) => {
            for operand in operands() {
                if let Some(hazard) = list.split(' ').find(|begin| operand.starts_with(begin)) {
                    add(hazard);
                }
            }
        }
        Text(values, looks) => {
            let values = flags
                .iter()
                .filter(|flag| lists(values, &flag.name))
                .filter_map(|flag| flag.value.as_ref().and_then(Word::known));
            for text in operands().chain(values).filter(|text| looks(text)) {
                add(text);
            }
        }
        Script(text, file, looks) => {
            let named = |name: &'static str| flags.iter().filter(move |flag| flag.is(name));
            let values = named(text).filter_map(|flag| flag.value.as_ref()?.known());
            for text in values.filter(|text| looks(text)) {
                add(text);
            }
            let first = facts.operand(0).filter(|text| looks(text));
            if let Some(first) = first
                && named(text).chain(named(file)).next().is_none()
            {
                add(first);
            }
        }
    }
}

/// Returns the operands, as far as they are known.
fn operands_of<'f>(facts: &'f Facts<'_>) -> impl Iterator<Item = Option<&'f str>> {
    facts.args.operands.iter().map(|operand| operand.word.known())
}

fn any_flag<'f>(
    flags: impl IntoIterator<Item = &'f Flag<'f>>,
    list: &str,
    mut add: impl FnMut(&str),
) {
    for flag in flags {
        if let Some(hazard) = list.split(' ').find(|hazard| flag.is(hazard)) {
            add(hazard);
        }
    }
}
