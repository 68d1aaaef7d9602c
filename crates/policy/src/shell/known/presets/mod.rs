//! Commands that are known well enough to run without a rule.
//!
//! A row lists every option that a program may have; with any other the row does
//! not speak of the command. An option that takes a value ends in `=`: the value
//! is attached or the next word. One that may have a value attached, and never
//! takes the next word, ends in `=?`.

mod programs;
mod table;

use table::READ_ONLY;

use crate::shell::args::is_open;
use crate::shell::facts::Facts;
use crate::shell::known::lists;
use crate::shell::line::Word;
use crate::shell::rule::Preset;
use crate::source::Ruled;

/// What the words that are no options may be.
enum Rest {
    /// Anything.
    Any,
    /// At most so many.
    Most(usize),
    /// Anything, where one of these options is there; else nothing.
    With(&'static [&'static str]),
    /// Anything, and one of these options must be there.
    Needs(&'static [&'static str]),
    /// Nothing, and one of these options must be there.
    Only(&'static [&'static str]),
    /// Words that look so.
    Like(fn(&str) -> bool),
}

use Rest::{Any, Like, Most, Needs, Only, With};

/// Programs, the subcommands that lead on, their options, and the rest.
type Row = (&'static [&'static str], &'static [&'static str], &'static str, Rest);

const HELP: &str = " --help --version";

/// Stands for every option there is, of a program that only prints its words.
const EVERYTHING: &str = "*";

/// The options of git itself that change nothing.
const GIT_GLOBALS: &[&str] =
    &["--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"];

/// Returns whether a program has rows, so that what it does with words is known.
pub(crate) fn knows(name: &str) -> bool {
    READ_ONLY.iter().any(|(names, ..)| names.contains(&name))
}

/// Returns the preset that covers a command, of those that a file names.
pub(crate) fn covering<'p>(
    presets: &'p [Ruled<Preset>],
    facts: &Facts<'_>,
) -> Option<&'p Ruled<Preset>> {
    let find = |wanted: Preset| presets.iter().find(|preset| preset.value == wanted);
    // Beside presets that run code of the project, a word may be an option for all that matters.
    let wide = find(Preset::Build).or(find(Preset::Test)).is_some();
    let always = if wide { LOOK_ALWAYS } else { PRINTS };
    let look = find(Preset::ReadOnly).filter(|_| looks_but_for_writing(facts, always));
    match (look, find(Preset::Edit)) {
        (Some(look), _) if programs::redirects_fit(facts, false) => Some(look),
        (Some(_), Some(edit)) if programs::redirects_fit(facts, true) => Some(edit),
        _ => find(programs::covers(facts, |preset| find(preset).is_some())?),
    }
}

/// Returns whether a command only looks.
pub(crate) fn only_looks(facts: &Facts<'_>) -> bool {
    looks_but_for_writing(facts, PRINTS) && programs::redirects_fit(facts, false)
}

/// The program that prints its words, whatever they are.
const PRINTS: &str = "echo";
/// Programs that only look whichever options they get, so that a word which only the
/// running shell knows changes nothing but what is looked at.
const LOOK_ALWAYS: &str = "echo cat head wc ls grep egrep fgrep basename dirname realpath readlink md5sum sha256sum cut nl";

/// Programs whose operands are programs too: hazards say what those do.
const SCRIPTED: &str = "sed awk gawk mawk nawk";

/// Returns whether a word is a number that the shell knows, or a text in quotes with plain
/// variables: one word, in which nothing else runs.
fn is_plain_expansion(word: &Word) -> bool {
    let Word::Unknown { raw } = word else { return false };
    if matches!(raw.as_str(), "$?" | "$#" | "$$" | "$!") {
        return true;
    }
    let inner = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'));
    let Some(mut rest) = inner.filter(|inner| !inner.contains(['`', '"', '\\'])) else {
        return false;
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    while let Some((_, after)) = rest.split_once('$') {
        rest = match after.chars().next() {
            Some('{') => match after[1..].split_once('}') {
                Some((name, rest)) if !name.is_empty() && name.chars().all(is_name) => rest,
                _ => return false,
            },
            Some('?' | '#' | '$' | '!') => &after[1..],
            Some(c) if is_name(c) => after.trim_start_matches(is_name),
            _ => return false,
        };
    }
    true
}

/// Returns whether a command only looks, redirections aside; `always` are programs whose
/// words need not be known.
fn looks_but_for_writing(facts: &Facts<'_>, always: &str) -> bool {
    let simple = facts.simple;
    if simple.redefined || simple.words.is_empty() || !facts.is_system() {
        return false;
    }
    // Hazards of the program itself are the rows' business; those around it are not.
    let around = |what: &str| what == "<" || what.ends_with('=') || what.contains(' ');
    let scripted = lists(SCRIPTED, facts.name);
    let script = facts.args.operands.first().is_some_and(|operand| operand.word.known().is_some());
    if facts.hazards.iter().any(|hazard| hazard.what != ">" && (scripted || around(&hazard.what)))
        || scripted && !script
    {
        return false;
    }
    let mut words = &simple.words[1..];
    match facts.name {
        "[[" => return looks_only(words),
        "git" => {
            // Another directory may be a repository whose configuration names programs.
            if facts.moved {
                return false;
            }
            let globals = |word: &Word| word.known().is_some_and(|w| GIT_GLOBALS.contains(&w));
            while words.first().is_some_and(globals) {
                words = &words[1..];
            }
        }
        _ => {}
    }
    let spelling = Spelling::of(facts.name);
    let any = lists(always, facts.name);
    READ_ONLY.iter().filter(|(names, ..)| names.contains(&facts.name)).any(
        |(_, subs, options, rest)| match subs {
            [] => fits(words, options, rest, spelling, any),
            subs => subs.iter().any(|sub| {
                let path: Vec<&str> = sub.split(' ').collect();
                words.len() >= path.len()
                    && path.iter().zip(words).all(|(name, word)| word.known() == Some(name))
                    && fits(&words[path.len()..], options, rest, spelling, false)
            }),
        },
    )
}

/// How a program reads words that start with a dash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// As `getopt`: `-ab` is two options, and what follows an option with a value is its value.
    Getopt,
    /// As `git`, whose `--help` opens a viewer and whose formats can check signatures.
    Git,
    /// One option in each word.
    Whole,
    /// Several letters in a word, each with a value takes one of the next words.
    Letters,
    /// By where a word stands, so that `--` is a word like others.
    Places,
}

impl Spelling {
    fn of(name: &str) -> Self {
        match name {
            "git" => Spelling::Git,
            // xxd takes the first letter and leaves the rest of the word.
            "find" | "xxd" => Spelling::Whole,
            "tree" => Spelling::Letters,
            "test" | "[" => Spelling::Places,
            _ => Spelling::Getopt,
        }
    }
}

/// Returns whether the words of `[[ ]]` cannot run anything.
fn looks_only(words: &[Word]) -> bool {
    // Arithmetic comparisons read their operands again.
    const AGAIN: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"];
    words.iter().all(|word| {
        word.known().is_some_and(|w| !AGAIN.contains(&w) && !w.contains("$(") && !w.contains('`'))
    })
}

/// How a word is listed.
enum Listed {
    No,
    Bare,
    Value,
    Attached,
}

fn listed(options: &str, name: &str, spelling: Spelling) -> Listed {
    let help = if spelling == Spelling::Git { "" } else { HELP };
    for option in options.split(' ').chain(help.split(' ')) {
        match option.strip_prefix(name) {
            Some("") if !name.is_empty() => return Listed::Bare,
            Some("=") => return Listed::Value,
            Some("=?") => return Listed::Attached,
            _ => {}
        }
    }
    Listed::No
}

/// Returns whether a word is surely the value of an option before it.
///
/// One that looks like an option may be one after all, where the option before it
/// takes no value, or takes it only attached; and a pattern may be several words.
fn is_value(word: Option<&Word>) -> bool {
    match word {
        None => true,
        Some(Word::Known(text)) => text.strip_prefix('-').is_none_or(|rest| {
            rest.is_empty() || rest.starts_with(|first: char| first.is_ascii_digit())
        }),
        Some(_) => false,
    }
}

/// Returns whether a value for git makes it run a program: the one that checks
/// signatures.
fn checks_signatures(value: &str) -> bool {
    let mut placeholders = value.split('%').skip(1);
    let is_signature = |text: &str| text.trim_start_matches(['+', '-', ' ']).starts_with('G');
    placeholders.any(is_signature) || value.contains("signature")
}

/// Returns whether a pattern stands for values of a listed option: `--include=*.py`.
fn is_value_pattern(word: &Word, options: &str, spelling: Spelling) -> bool {
    let Word::Glob { fixed, .. } = word else { return false };
    let Some((name, _)) = fixed.split_once('=').filter(|(name, _)| name.starts_with("--")) else {
        return false;
    };
    spelling == Spelling::Getopt
        && matches!(listed(options, name, spelling), Listed::Value | Listed::Attached)
}

/// Returns whether all words are listed; `any` is whether words that only the running
/// shell knows change nothing.
fn fits(words: &[Word], options: &str, rest: &Rest, spelling: Spelling, any: bool) -> bool {
    let may = |word: &Word| any && is_plain_expansion(word);
    if options == EVERYTHING {
        return !words.iter().any(|word| is_open(word) && !may(word));
    }
    if spelling == Spelling::Git && words.iter().filter_map(Word::known).any(checks_signatures) {
        return false;
    }
    let mut seen: Vec<String> = Vec::new();
    let mut others: Vec<&Word> = Vec::new();
    let mut ended = false;
    // Whether the word before was an option without a value.
    let mut bare = false;
    // Whether the end of the options might be the value of such an option.
    let mut doubtful = false;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let after_bare = std::mem::replace(&mut bare, false);
        let text = match word {
            Word::Known(text) => text.as_str(),
            word if is_value_pattern(word, options, spelling) => continue,
            word if is_open(word) && !may(word) => return false,
            word => {
                others.push(word);
                continue;
            }
        };
        if ended || !text.starts_with('-') || text == "-" {
            if doubtful && text.starts_with('-') {
                return false;
            }
            others.push(word);
        } else if text == "--" {
            // Not every program ends its options so.
            match spelling {
                Spelling::Whole | Spelling::Places => return false,
                Spelling::Getopt | Spelling::Git | Spelling::Letters => {}
            }
            doubtful = after_bare;
            ended = true;
        } else if spelling == Spelling::Whole || text.starts_with("--") {
            let (name, value) = match text.split_once('=') {
                Some((name, value)) if spelling != Spelling::Whole => (name, Some(value)),
                _ => (text, None),
            };
            match (listed(options, name, spelling), value) {
                (Listed::Bare | Listed::Attached, None) => bare = true,
                (Listed::Attached | Listed::Value, Some(_)) => {}
                (Listed::Value, None) if is_value(words.next()) => {}
                _ => return false,
            }
            seen.push(name.to_owned());
        } else if matches!(listed(options, text, spelling), Listed::Bare) {
            bare = true;
            seen.push(text.to_owned());
        } else {
            for (at, letter) in text.char_indices().skip(1) {
                let name = format!("-{letter}");
                let after = &text[at + letter.len_utf8()..];
                let number = after.chars().all(|c| c.is_ascii_digit());
                match listed(options, &name, spelling) {
                    Listed::Bare => {
                        seen.push(name);
                        bare = true;
                    }
                    Listed::Attached => {
                        seen.push(name);
                        bare = after.is_empty();
                        break;
                    }
                    Listed::Value if after.is_empty() && is_value(words.next()) => {
                        seen.push(name);
                        bare = false;
                    }
                    Listed::Value
                        if !after.is_empty() && (number || spelling != Spelling::Letters) =>
                    {
                        seen.push(name);
                        bare = false;
                        break;
                    }
                    Listed::Value | Listed::No => return false,
                }
            }
        }
    }
    let has = |list: &[&str]| seen.iter().any(|name| list.contains(&name.as_str()));
    let looks = ["--help", "--version"];
    match rest {
        Only(list) => others.is_empty() && has(list),
        _ if has(&looks) && others.is_empty() => true,
        Any => true,
        // A pattern may be several files.
        Most(most) => {
            others.len() <= *most && others.iter().all(|word| matches!(word, Word::Known(_)))
        }
        With(list) => others.is_empty() || has(list),
        Needs(list) => has(list),
        Like(looks) => others.iter().all(|word| word.known().is_some_and(looks)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_lists_what_is_known_to_be_dangerous() {
        let never = [
            (
                "find",
                "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from",
            ),
            ("sort", "-o --output --compress-program -T --temporary-directory"),
            ("rg", "--pre --hostname-bin -z --search-zip --pre-glob"),
            ("git", "--output --ext-diff --textconv -O --open-files-in-pager --exec-path -c -C"),
            ("xxd", "-r -revert"),
            ("date", "-s --set -f --file"),
            ("tree", "-o -R"),
            ("file", "-C --compile -z -Z -m -f"),
            ("printf", "-v"),
            ("test", "-v -R"),
            ("hostname", "-F -b"),
            ("jq", "-f --from-file -L"),
            ("tail", "-f -F --follow"),
        ];
        for (program, flags) in never {
            for (_, subs, options, _) in READ_ONLY.iter().filter(|row| row.0.contains(&program)) {
                for flag in flags.split(' ') {
                    // -c and -C of some subcommands are others than git's own.
                    if program == "git"
                        && matches!(flag, "-c" | "-C" | "-O")
                        && !subs.contains(&"grep")
                    {
                        continue;
                    }
                    if program == "git" && flag == "-c" {
                        continue;
                    }
                    if program == "git" && flag == "-C" {
                        continue;
                    }
                    assert!(
                        matches!(listed(options, flag, Spelling::Git), Listed::No),
                        "{program} {subs:?} {flag}"
                    );
                }
            }
        }
    }
}
