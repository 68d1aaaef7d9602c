//! Programs that run the command in their arguments.
//!
//! The command inside is what matters, so it is taken out and decided by itself.
//! Some wrappers change nothing about it; others are decided as well.

mod table;

use std::collections::HashMap;
use std::sync::LazyLock;

use table::{Inner, Row, SHELLS, TABLE};

use crate::shell::known::{base_name, is_system, lists};
use crate::shell::line::{Redirect, RedirectKind, Simple, Within, Word};
use crate::shell::parse::parse;

/// The most wrappers within each other.
pub(crate) const MAX_DEPTH: usize = 10;
/// The most commands that a line can come to.
pub(crate) const MAX_COMMANDS: usize = 1000;

/// The rows of the table, by program.
static BY_NAME: LazyLock<HashMap<&str, &Row>> = LazyLock::new(|| {
    let each = |row: &'static Row| row.names.split(' ').map(move |name| (name, row));
    TABLE.iter().flat_map(each).collect()
});

/// What a command comes to once it is unwrapped.
#[derive(Debug)]
pub(crate) struct Unwrapped {
    /// The commands inside.
    pub(crate) inner: Vec<(Simple, bool)>,
    /// Whether those are all that matters.
    pub(crate) transparent: bool,
    /// Whether only rules that block those matter.
    pub(crate) named: bool,
}

/// Returns whether a wrapper is decided itself too.
pub(crate) fn is_opaque(name: &str) -> bool {
    BY_NAME.get(name).is_some_and(|row| {
        !row.transparent && !matches!(row.inner, Inner::Find | Inner::Fd | Inner::After(_))
    })
}

/// Returns whether a program is a shell.
pub(crate) fn is_shell(name: &str) -> bool {
    lists(SHELLS, name)
}

/// Returns whether a shell has neither a line nor a file to run, and so runs
/// what it reads.
pub(crate) fn reads_commands(simple: &Simple) -> bool {
    let words = simple.words.get(1..).unwrap_or_default();
    let Some((line, operands)) = shell_words(words) else { return true };
    let prints = ["--version", "--help"];
    let reads = |word: &Word| matches!(word.known(), Some("-" | "/dev/stdin" | "/dev/fd/0"));
    !line
        && operands.first().is_none_or(reads)
        && !simple.words.iter().any(|word| word.known().is_some_and(|w| prints.contains(&w)))
}

/// Takes the command out of a wrapper; `None` where there is none.
///
/// The flag with each inner command is whether it may start elsewhere.
pub(crate) fn unwrap(simple: &Simple) -> Option<Unwrapped> {
    let program = simple.words.first()?.known()?;
    let name = base_name(program);
    let row = BY_NAME.get(name)?;
    let words = &simple.words[1..];
    let always = lists(row.moves, "*");
    let mut found = match row.inner {
        Inner::Find => find(words),
        Inner::Fd => fd(words),
        Inner::Shell => shell(simple),
        // Without a command these start a shell, which runs what it reads.
        Inner::Command => {
            line_option(words, row).map_or_else(|| vec![lost(simple)], |word| text(&word))
        }
        Inner::Eval => match words {
            [first, words @ ..] if first.known() == Some("--") => joined(words),
            words => joined(words),
        },
        Inner::After(subs) => after(simple, subs, lists(row.names, "git")),
        Inner::Trap => words
            .iter()
            .find(|word| word.known() != Some("--"))
            .filter(|word| !word.known().is_some_and(|w| w.is_empty() || w.starts_with('-')))
            .filter(|_| words.len() > 1)
            .map(text)
            .unwrap_or_default(),
        Inner::Gdb => {
            let args = |word: &Word| {
                let name =
                    word.known().filter(|w| w.starts_with('-')).map(|w| w.trim_start_matches('-'));
                name.is_some_and(|name| {
                    name == "args" || (name.len() > 1 && "args".starts_with(name))
                })
            };
            let ends = |word: &Word| name == "lldb" && word.known() == Some("--");
            let at = words.iter().position(|word| args(word) || ends(word));
            at.map(|at| plain(&words[at + 1..])).unwrap_or_default()
        }
        Inner::Lost => vec![lost(simple)],
        Inner::Words(_) | Inner::Env | Inner::Xargs | Inner::Joined(_) => {
            return by_options(simple, row, always);
        }
    };
    if found.is_empty() {
        return None;
    }
    let away = matches!(row.inner, Inner::Find)
        && words.iter().any(|w| matches!(w.known(), Some("-execdir" | "-okdir")));
    for inner in &mut found {
        inner.within.insert(0, Within::Wrapper);
    }
    let inner = found.into_iter().map(|simple| (simple, always || away)).collect();
    Some(Unwrapped { inner, transparent: false, named: row.named })
}

impl Unwrapped {
    /// Returns that the command inside could be any.
    fn lost(simple: &Simple, row: &Row) -> Self {
        let inner = vec![(wrapped(lost(simple)), true)];
        Unwrapped { inner, transparent: false, named: row.named }
    }
}

/// Follows a wrapper whose options come before the command.
fn by_options(simple: &Simple, row: &Row, always: bool) -> Option<Unwrapped> {
    // A program by another name is read as the first of its row.
    let name = row.names.split(' ').next().unwrap_or_default();
    let words = &simple.words[1..];
    let mut moved = always;
    let mut clear = true;
    let mut replaces: Option<String> = None;
    let mut execs = false;
    let mut shells = false;
    let mut assignments = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let Some(text) = word.known() else {
            // What is not known may be an option, or the command.
            break;
        };
        if text == "--" {
            at += 1;
            break;
        }
        if !text.starts_with('-') || (text == "-" && !lists(row.bare, "-")) {
            break;
        }
        if row.none.split(' ').any(|none| is_option(text, none)) {
            return None;
        }
        let option = read_option(text, row);
        execs |= matches!(text, "-x" | "--exec");
        let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let has = |option: &&str| {
            option.len() == 2 && letters.is_some_and(|letters| letters.contains(&option[1..]))
        };
        let asks = matches!(name, "sudo" | "doas");
        shells |= asks && (matches!(text, "--login" | "--shell") || has(&"-i") || has(&"-s"));
        // A letter may stand in the middle of others, or before its value.
        let held = |option: &&str| !option.is_empty() && (is_option(text, option) || has(option));
        let moves = row.moves.split(' ').find(held);
        moved |= moves.is_some();
        // A variable that is taken away and another directory change what the command
        // does as much as a variable that is set.
        if let Some(option) = row.takes.split(' ').find(held).or(moves) {
            assignments.push((format!("{name} {option}"), Word::Known(String::new())));
        }
        if row.inner == Inner::Xargs {
            replaces = replacement(text, words.get(at + 1)).or(replaces);
        }
        match option {
            // A value that may be several words could hold the command.
            Some(2) if words.get(at + 1).is_some_and(|value| value.known().is_none()) => {
                clear = false;
                break;
            }
            Some(width) => at += width,
            None if row.inner == Inner::Xargs && is_xargs_optional(text) => at += 1,
            None => {
                clear = false;
                at += 1;
            }
        }
    }
    if !clear {
        // What an unknown option takes is not known, so neither is the command.
        return Some(Unwrapped::lost(simple, row));
    }
    let skip = match row.inner {
        Inner::Words(skip) | Inner::Joined(skip) => skip,
        _ => 0,
    };
    let mut rest = words.get(at + skip..).unwrap_or_default();
    let skipped = || words[at.min(words.len())..].iter().take(skip);
    // Where a number has to stand and none does, the program may do without.
    let numbered = ["timeout", "chrt", "taskset"].contains(&name);
    let number = |text: &str| match name {
        "taskset" => text.chars().all(|c| c.is_ascii_hexdigit() || "x,-:".contains(c)),
        _ => text.starts_with(|c: char| c.is_ascii_digit() || c == '.'),
    };
    if skipped().any(|word| word.known().is_none_or(|text| numbered && !number(text))) {
        // A word that may be several could hold the command.
        return Some(Unwrapped::lost(simple, row));
    }
    if let (Some("-c" | "--command"), "flock") = (rest.first().and_then(Word::known), name) {
        let inner = rest.get(1).map(text).unwrap_or_default();
        let inner = inner.into_iter().map(|simple| (wrapped(simple), moved)).collect();
        return Some(Unwrapped { inner, transparent: false, named: false });
    }
    if row.inner == Inner::Env {
        while let Some(Some((name, value))) =
            rest.first().map(|word| word.known().and_then(|text| text.split_once('=')))
        {
            assignments.push((name.to_owned(), Word::Known(value.to_owned())));
            rest = &rest[1..];
        }
    }
    if rest.is_empty() && row.inner != Inner::Xargs {
        let shell = ["chroot", "unshare", "nsenter", "ssh"].contains(&name) || shells;
        // Without a command these start a shell, which runs what it reads.
        return shell.then(|| Unwrapped::lost(simple, row));
    }
    // A shell that sudo starts still replaces what begins with a dollar sign.
    if shells && rest.iter().any(|word| word.known().is_none_or(|text| text.contains('$'))) {
        return Some(Unwrapped::lost(simple, row));
    }
    let trusted = simple.words[0].known().is_some_and(is_system);
    let transparent = row.transparent && trusted;
    let mut inner = match row.inner {
        Inner::Joined(_) if !(execs && name == "watch") => joined(rest),
        Inner::Xargs => xargs(rest, replaces.as_deref()),
        _ => plain(rest),
    };
    for command in &mut inner {
        command.within.insert(0, Within::Wrapper);
        command.assignments.splice(0..0, assignments.iter().cloned());
        if transparent {
            // Nobody else answers for what stands around a transparent wrapper.
            command.assignments.splice(0..0, simple.assignments.iter().cloned());
            command.redirects.extend(simple.redirects.iter().cloned());
            command.text.clone_from(&simple.text);
        }
    }
    let inner = inner.into_iter().map(|simple| (simple, moved)).collect();
    Some(Unwrapped { inner, transparent, named: row.named })
}

fn is_option(text: &str, option: &str) -> bool {
    text == option
        || (option.starts_with("--")
            && text.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')))
}

/// Returns how many words an option takes; `None` when it is not known.
fn read_option(text: &str, row: &Row) -> Option<usize> {
    if lists(row.bare, text) {
        return Some(1);
    }
    if lists(row.values, text) {
        return Some(2);
    }
    if let Some((name, _)) = text.split_once('=').filter(|_| text.starts_with("--")) {
        let known = lists(row.values, name) || lists(row.bare, name);
        return known.then_some(1);
    }
    if text.starts_with("--") {
        return None;
    }
    // A cluster: letters without values, the last one perhaps with one.
    for (at, letter) in text.char_indices().skip(1) {
        let name = format!("-{letter}");
        if lists(row.values, &name) {
            let attached = at + letter.len_utf8() < text.len();
            return Some(if attached { 1 } else { 2 });
        }
        if !lists(row.bare, &name) {
            return None;
        }
    }
    Some(1)
}

/// Returns the text that `xargs` replaces, where an option says so.
fn replacement(text: &str, next: Option<&Word>) -> Option<String> {
    if let Some(long) = text.strip_prefix("--") {
        // An abbreviation is as good.
        let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
        let replaces = name.len() > 2 && "replace".starts_with(name);
        return replaces.then(|| value.unwrap_or("{}").to_owned());
    }
    // The letter may stand behind others that take no value.
    let at = text.find(['I', 'i', 'n', 'P', 'L', 's', 'a', 'd', 'E', 'l', 'e'])?;
    let attached = &text[at + 1..];
    match (text.as_bytes()[at], attached) {
        (b'I', "") => Some(next.and_then(Word::known).unwrap_or_default().to_owned()),
        (b'i', "") => Some("{}".to_owned()),
        (b'I' | b'i', attached) => Some(attached.to_owned()),
        _ => None,
    }
}

/// Returns whether an option of `xargs` has its value attached or none.
fn is_xargs_optional(text: &str) -> bool {
    ["-i", "-l", "-e", "--replace", "--max-lines", "--eof"]
        .iter()
        .any(|option| text.starts_with(option))
}

fn xargs(words: &[Word], replaces: Option<&str>) -> Vec<Simple> {
    let echo = [Word::Known("echo".to_owned())];
    let words = if words.is_empty() { &echo[..] } else { words };
    let unknown = || Word::Unknown { raw: "what xargs reads".to_owned() };
    let mut words = words.to_vec();
    match replaces {
        Some(mark) => {
            for word in &mut words {
                let holds = word.known().is_some_and(|text| mark.is_empty() || text.contains(mark));
                if holds {
                    *word = unknown();
                }
            }
        }
        None => words.push(unknown()),
    }
    plain(&words)
}

fn find(words: &[Word]) -> Vec<Simple> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if matches!(words[at].known(), Some("-exec" | "-execdir" | "-ok" | "-okdir")) {
            let rest = &words[at + 1..];
            let end = |(i, word): (usize, &Word)| match word.known() {
                Some(";") => true,
                Some("+") => i > 0 && rest[i - 1].known() == Some("{}"),
                _ => false,
            };
            let length = rest.iter().enumerate().position(end).unwrap_or(rest.len());
            found.extend(plain(&placed(&rest[..length], &["{}"], false)));
        }
        // Also what stands in another one: what looks like it may be an argument.
        at += 1;
    }
    if words.iter().any(|word| matches!(word, Word::Unknown { .. })) {
        // It may be `-exec`.
        found.push(unknown_command("what find runs"));
    }
    found
}

fn fd(words: &[Word]) -> Vec<Simple> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let Some(text) = word.known() else { continue };
        let short = text.starts_with('-') && !text.starts_with("--") && text.contains(['x', 'X']);
        let long = text.starts_with("--exec");
        if short || long {
            let mut rest = words[at + 1..].to_vec();
            if let Some((_, first)) = text.split_once('=').filter(|_| long) {
                rest.insert(0, Word::Known(first.to_owned()));
            }
            let length = rest.iter().position(|word| word.known() == Some(";"));
            let marks = ["{}", "{/}", "{//}", "{.}", "{/.}"];
            let rest = placed(&rest[..length.unwrap_or(rest.len())], &marks, true);
            found.extend(plain(&rest));
        }
    }
    found
}

/// Replaces the marks for a file by a word that nobody knows yet.
fn placed(words: &[Word], marks: &[&str], append: bool) -> Vec<Word> {
    let unknown = || Word::Unknown { raw: "{}".to_owned() };
    let mut any = false;
    let mut words: Vec<Word> = words
        .iter()
        .map(|word| match word.known() {
            Some(text) if marks.iter().any(|mark| text.contains(mark)) => {
                any = true;
                unknown()
            }
            _ => word.clone(),
        })
        .collect();
    if append && !any {
        words.push(unknown());
    }
    words
}

/// Reads the words of a shell: whether it has a `-c`, and its operands; `None`
/// where it has an option that is not known.
fn shell_words(words: &[Word]) -> Option<(bool, &[Word])> {
    const LONG: &[&str] = &[
        "--dump-po-strings",
        "--dump-strings",
        "--help",
        "--login",
        "--noediting",
        "--noprofile",
        "--norc",
        "--pretty-print",
        "--restricted",
        "--verbose",
        "--version",
    ];
    /// What `-o` can set without changing how a line is read.
    const SETTINGS: &[&str] = &["errexit", "nounset", "pipefail", "noexec", "verbose", "xtrace"];
    let mut line = false;
    let mut at = 0;
    while let Some(text) = words.get(at).and_then(Word::known) {
        if text == "--" || text == "-" {
            // A single dash ends the options of a shell as well.
            at += usize::from(text == "--" || words.len() > at + 1);
            break;
        }
        if !text.starts_with(['-', '+']) || text.len() < 2 {
            break;
        }
        let mut takes = 0;
        if text.starts_with("--") {
            if !LONG.contains(&text) {
                return None;
            }
        } else {
            // The others run a file first, or have the line read in another way.
            if !text[1..].chars().all(|c| "celnouvx".contains(c)) {
                return None;
            }
            line |= text.starts_with('-') && text.contains('c');
            takes = text.chars().skip(1).filter(|c| *c == 'o').count();
        }
        // Each `-o` takes a word, and one that may be several could hold the line.
        let known = |word: &Word| word.known().is_some_and(|name| SETTINGS.contains(&name));
        if !words.iter().skip(at + 1).take(takes).all(known) {
            return None;
        }
        at += 1 + takes;
    }
    let operands = words.get(at..).unwrap_or_default();
    // What is not known may be an option.
    operands.first().is_none_or(|word| line || word.known().is_some()).then_some((line, operands))
}

fn shell(simple: &Simple) -> Vec<Simple> {
    let words = &simple.words[1..];
    let Some((line, operands)) = shell_words(words) else {
        return vec![lost(simple)];
    };
    if line {
        return operands.first().map(text).unwrap_or_default();
    }
    let stdin = |word: &Word| {
        word.known().is_some_and(|file| file.starts_with("/dev/") || file.starts_with("/proc/"))
    };
    if operands.first().is_some_and(stdin) {
        return vec![unknown_command("what the shell reads")];
    }
    if !reads_commands(simple) {
        return Vec::new();
    }
    // Another descriptor in the place of the standard input.
    let elsewhere = |redirect: &Redirect| {
        redirect.kind == RedirectKind::Duplicate
            && redirect.fd.as_deref().is_none_or(|fd| fd == "0")
            && !matches!(redirect.target.known(), Some("1" | "2" | "-"))
    };
    if simple.redirects.iter().any(elsewhere) {
        return vec![unknown_command("what the shell reads")];
    }
    // Text that stands in the line itself can be looked at.
    let given = simple.redirects.iter().rev().find(|redirect| {
        redirect.fd.as_deref().is_none_or(|fd| fd == "0")
            && matches!(redirect.kind, RedirectKind::Text | RedirectKind::Read)
    });
    match given {
        Some(redirect) if redirect.kind == RedirectKind::Text => text(&redirect.target),
        _ => vec![unknown_command("what the shell reads")],
    }
}

/// Returns the line that is the value of `-c`; `None` where there is not exactly
/// one, or where an option is not known.
fn line_option(words: &[Word], row: &Row) -> Option<Word> {
    let mut line = None;
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let text = word.known()?;
        if text == "--" {
            return None;
        }
        let long = ["--command", "--session-command"].into_iter().find(|long| {
            text == *long || text.strip_prefix(long).is_some_and(|rest| rest.starts_with('='))
        });
        let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let bare =
            |letters: &str| letters.chars().all(|letter| lists(row.bare, &format!("-{letter}")));
        let cluster = letters.and_then(|letters| letters.split_once('c'));
        let found = match (long, cluster.filter(|(before, _)| bare(before))) {
            (Some(long), _) => Some(text.strip_prefix(long).and_then(|v| v.strip_prefix('='))),
            (None, Some((_, attached))) => Some((!attached.is_empty()).then_some(attached)),
            (None, None) => None,
        };
        match found {
            Some(_) if line.is_some() => return None,
            Some(Some(attached)) => {
                line = Some(Word::Known(attached.to_owned()));
                at += 1;
            }
            Some(None) => {
                line = Some(words.get(at + 1)?.clone());
                at += 2;
            }
            None if text.starts_with('-') && text != "-" => at += read_option(text, row)?,
            None => at += 1,
        }
    }
    line
}

/// Follows a program of which some subcommands run a command in words.
fn after(simple: &Simple, subs: &[(&str, usize)], joins: bool) -> Vec<Simple> {
    let words = &simple.words[1..];
    let known = |at: usize| words.get(at).and_then(Word::known);
    let is = |at: usize, sub: &str| {
        sub.split(' ').enumerate().all(|(index, name)| known(at + index) == Some(name))
    };
    let texts = || words.iter().filter_map(Word::known);
    let runs = |text: &str| text.starts_with("-x") || text.starts_with("--ex");
    if joins && texts().any(|text| text == "rebase") && texts().any(runs) {
        // What it runs between its steps is a line for a shell.
        return vec![lost(simple)];
    }
    for (sub, skip) in subs {
        if !is(0, sub) {
            // Behind options the subcommand may be anywhere.
            let option = known(0).is_none_or(|first| first.starts_with('-'));
            if option && (1..words.len()).any(|at| is(at, sub)) {
                return vec![lost(simple)];
            }
            continue;
        }
        let rest = &words[sub.split(' ').count()..];
        let option = |word: &Word| word.known().is_none_or(|text| text.starts_with('-'));
        let (before, rest) = rest.split_at((*skip).min(rest.len()));
        let (first, rest) = match rest.split_first() {
            Some((first, rest)) if first.known() == Some("--") => (None, rest),
            first => (first.map(|(first, _)| first), rest),
        };
        // What an option takes is not known.
        if before.iter().chain(first).any(option) {
            return vec![lost(simple)];
        }
        // What follows a double dash may be all there is.
        if rest.iter().any(|word| word.known() == Some("--")) {
            return vec![lost(simple)];
        }
        return if joins && rest.len() == 1 { text(&rest[0]) } else { plain(rest) };
    }
    Vec::new()
}

/// Reads a word as a line of its own.
fn text(word: &Word) -> Vec<Simple> {
    match word.known().map(parse) {
        Some(Ok(line)) => line.commands,
        _ => vec![unknown_command(&word.to_string())],
    }
}

/// Reads words as a line, as a program does that gives them to a shell.
fn joined(words: &[Word]) -> Vec<Simple> {
    let known: Option<Vec<&str>> = words.iter().map(Word::known).collect();
    match known {
        Some(words) => text(&Word::Known(words.join(" "))),
        None => {
            let raw: Vec<String> = words.iter().map(Word::to_string).collect();
            vec![unknown_command(&raw.join(" "))]
        }
    }
}

/// Reads words as a command.
fn plain(words: &[Word]) -> Vec<Simple> {
    if words.is_empty() {
        return Vec::new();
    }
    let shown: Vec<String> = words.iter().map(Word::to_string).collect();
    vec![Simple {
        words: words.to_vec(),
        assignments: Vec::new(),
        redirects: Vec::new(),
        text: shown.join(" "),
        within: Vec::new(),
        redefined: false,
    }]
}

fn wrapped(mut simple: Simple) -> Simple {
    simple.within.insert(0, Within::Wrapper);
    simple
}

/// Returns a command that could be any.
fn lost(simple: &Simple) -> Simple {
    unknown_command(&simple.text)
}

/// Returns a command that could be any, to be shown as `raw`.
pub(crate) fn unknown_command(raw: &str) -> Simple {
    Simple {
        words: vec![Word::Unknown { raw: raw.to_owned() }],
        assignments: Vec::new(),
        redirects: Vec::new(),
        text: raw.to_owned(),
        within: Vec::new(),
        redefined: false,
    }
}
