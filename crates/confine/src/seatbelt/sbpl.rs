//! The text of a profile: rules, strings, parameters and regular expressions.

use std::ffi::OsString;
use std::path::Path;

use super::Profile;

/// A profile being written.
pub(super) struct Text {
    text: String,
    parameters: Vec<(String, OsString)>,
}

impl Text {
    pub(super) fn new() -> Self {
        Text { text: String::new(), parameters: Vec::new() }
    }

    /// Starts a part with why it is there.
    pub(super) fn part(&mut self, why: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let mut line = String::from(";");
        for word in why.split_whitespace() {
            if line.len() + word.len() > 90 {
                self.bare(&line);
                line = String::from(";");
            }
            line.push(' ');
            line.push_str(word);
        }
        self.bare(&line);
    }

    /// Writes a rule that holds for what one of the filters matches. Without a
    /// filter there is no rule: it would hold for everything.
    pub(super) fn rule(&mut self, head: &str, filters: &[String]) {
        if !filters.is_empty() {
            self.bare(&format!("({head}\n  {})", filters.join("\n  ")));
        }
    }

    /// Writes a line as it is.
    pub(super) fn bare(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Returns an expression for a path: its text, or a parameter where text
    /// would not be read back as it was.
    pub(super) fn path(&mut self, path: &Path) -> String {
        match path.to_str() {
            Some(text) if !text.chars().any(char::is_control) => quoted(text),
            _ => {
                let known = self.parameters.iter().find(|(_, value)| value == path.as_os_str());
                let name = match known {
                    Some((name, _)) => name.clone(),
                    None => format!("PATH_{}", self.parameters.len()),
                };
                self.parameter(&name, path)
            }
        }
    }

    /// Returns an expression for a parameter with that value.
    pub(super) fn parameter(&mut self, name: &str, value: &Path) -> String {
        if !self.parameters.iter().any(|(known, _)| known == name) {
            self.parameters.push((name.to_owned(), value.as_os_str().to_owned()));
        }
        format!("(param {})", quoted(name))
    }

    pub(super) fn finish(self) -> Profile {
        Profile { text: self.text, parameters: self.parameters }
    }
}

/// Returns text as a string of the language.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
}

/// Returns the filter for one path.
pub(super) fn literal(path: &str) -> String {
    format!("(literal {path})")
}

/// Returns the filter for a path and everything below it.
pub(super) fn subpath(path: &str) -> String {
    format!("(subpath {path})")
}

/// Returns the filter for what matches one of them; there is at least one.
pub(super) fn any(filters: &[String], indent: &str) -> String {
    match filters {
        [one] => one.clone(),
        all => format!("(require-any{indent}{})", all.join(indent)),
    }
}

/// Returns the filter for what a guarded pattern covers, `depth` names below the
/// root: the same as `zonekeep_policy::guard`, and what a file system takes for
/// the same.
pub(super) fn covered(depth: usize, pattern: &str) -> String {
    let names: Vec<String> = names(pattern).map(name).collect();
    regex(&format!("^{}/(.*/)?{}(/.*)?$", "/[^/]+".repeat(depth), names.join("/")))
}

/// Returns the filters for the directories in which a pattern guards a file.
pub(super) fn parents(depth: usize, pattern: &str) -> Vec<String> {
    let names: Vec<String> = names(pattern).map(name).collect();
    let above = "/[^/]+".repeat(depth);
    (1..names.len()).map(|n| regex(&format!("^{above}/(.*/)?{}$", names[..n].join("/")))).collect()
}

fn regex(text: &str) -> String {
    format!("(regex #\"{text}\")")
}

/// Returns the names of a pattern without a last `**`: the directory itself is
/// covered too, with all that is below.
fn names(pattern: &str) -> impl Iterator<Item = &str> {
    pattern.split('/').filter(|name| *name != "**")
}

/// Returns what matches one name of a pattern, where `*` is any part of a name.
fn name(name: &str) -> String {
    name.split('*').map(letters).collect::<Vec<_>>().join("[^/]*")
}

/// Letters outside ASCII, of which one or more stand for letters of ASCII.
const OTHER: &str = "[^ -~]+";

/// Runs of letters for which file systems take a single other letter.
const JOINED: [&str; 7] = ["ffi", "ffl", "ff", "fi", "fl", "ss", "st"];

/// Returns what matches this text in any case and any form. There is no flag for
/// it: `(?i)` makes the whole profile invalid.
fn letters(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(joined) = leading_joined(rest) {
            let apart: String = joined.chars().map(letter).collect();
            out.push_str(&format!("({apart}|{OTHER})"));
            rest = &rest[joined.len()..];
        } else if let Some(foreign) = leading_foreign(rest) {
            // Composed or not, the mark and its letter are one.
            out.push_str(&format!("([a-zA-Z]*{OTHER})+"));
            rest = &rest[foreign..];
        } else {
            out.push_str(&letter(first));
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

/// Returns the run of letters that a single other letter can stand for. Where a
/// mark may follow, its letter belongs to it.
fn leading_joined(text: &str) -> Option<&'static str> {
    JOINED.into_iter().find(|joined| {
        let (run, next) = (text.get(..joined.len()), text.as_bytes().get(joined.len()));
        run.is_some_and(|run| run.eq_ignore_ascii_case(joined)) && next.is_none_or(u8::is_ascii)
    })
}

/// Returns the length of what cannot be compared letter by letter: characters
/// outside ASCII, with the letter before them.
fn leading_foreign(text: &str) -> Option<usize> {
    let letter = text.starts_with(|c: char| c.is_ascii_alphabetic()) as usize;
    let length = text[letter..].find(|c: char| c.is_ascii()).unwrap_or(text.len() - letter);
    (length > 0).then_some(letter + length)
}

/// Returns what matches one character of ASCII.
fn letter(c: char) -> String {
    match c {
        'k' | 'K' | 's' | 'S' => {
            format!("([{}{}]|{OTHER})", c.to_ascii_lowercase(), c.to_ascii_uppercase())
        }
        'a'..='z' | 'A'..='Z' => format!("[{}{}]", c.to_ascii_lowercase(), c.to_ascii_uppercase()),
        '.' | '+' | '?' | '(' | ')' | '{' | '}' | '|' | '$' | '*' => format!("[{c}]"),
        // No two readers agree on how these are escaped: any character will do.
        '"' | '\\' | '^' | '[' | ']' => ".".to_owned(),
        c if c.is_ascii_control() => ".".to_owned(),
        c => c.to_string(),
    }
}
