//! Reads a profile and decides by it, as far as its rules are about paths and
//! names: what the tests ask instead of a kernel that is not here.

use super::Profile;

/// An expression of the language.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Form {
    Word(String),
    Text(String),
    List(Vec<Form>),
}

impl Form {
    fn list(&self) -> &[Form] {
        match self {
            Form::List(forms) => forms,
            _ => panic!("not a list: {self:?}"),
        }
    }

    pub(super) fn word(&self) -> Option<&str> {
        match self {
            Form::Word(word) => Some(word),
            _ => None,
        }
    }
}

/// Reads all expressions of a text; it panics where the text is not well formed.
pub(super) fn read(text: &str) -> Vec<Form> {
    let mut rest = text;
    let mut forms = Vec::new();
    while let Some(form) = read_one(&mut rest) {
        forms.push(form);
    }
    assert_eq!(rest, "", "nothing is left over");
    forms
}

fn read_one(rest: &mut &str) -> Option<Form> {
    loop {
        *rest = rest.trim_start();
        match rest.strip_prefix(';') {
            Some(comment) => *rest = comment.split_once('\n').map_or("", |(_, after)| after),
            None => break,
        }
    }
    if rest.is_empty() || rest.starts_with(')') {
        return None;
    }
    if let Some(after) = rest.strip_prefix('(') {
        *rest = after;
        let mut forms = Vec::new();
        while let Some(form) = read_one(rest) {
            forms.push(form);
        }
        *rest = rest.strip_prefix(')').expect("a list ends");
        return Some(Form::List(forms));
    }
    if let Some(after) = rest.strip_prefix("#\"") {
        let (raw, after) = after.split_once('"').expect("a regular expression ends");
        *rest = after;
        return Some(Form::Text(raw.to_owned()));
    }
    if let Some(after) = rest.strip_prefix('"') {
        let mut text = String::new();
        let mut chars = after.chars();
        loop {
            match chars.next().expect("a string ends") {
                '"' => break,
                '\\' => text.push(chars.next().expect("an escape ends")),
                c => text.push(c),
            }
        }
        *rest = chars.as_str();
        return Some(Form::Text(text));
    }
    let end = rest.find(|c: char| c.is_whitespace() || "();\"".contains(c)).unwrap_or(rest.len());
    assert!(end > 0, "a word has letters: {rest:?}");
    let (word, after) = rest.split_at(end);
    *rest = after;
    Some(Form::Word(word.to_owned()))
}

/// Returns whether the profile lets an operation happen to a path, a service,
/// `ip` for any address, or `ip` and one of them.
pub(super) fn allows(profile: &Profile, operation: &str, subject: &str) -> bool {
    let mut allowed = false;
    for form in read(&profile.text) {
        let [head, parts @ ..] = form.list() else { panic!("an empty rule") };
        let covers = parts.iter().filter_map(Form::word).any(|word| match word.strip_suffix('*') {
            Some(prefix) => operation.starts_with(prefix),
            None => word == operation || word == "default",
        });
        let mut filters = parts.iter().filter(|part| matches!(part, Form::List(_))).peekable();
        let applies = filters.peek().is_none()
            || filters.any(|filter| matches(profile, filter.list(), subject));
        if covers && applies {
            allowed = head.word() == Some("allow");
        }
    }
    allowed
}

fn matches(profile: &Profile, filter: &[Form], subject: &str) -> bool {
    let nested = |forms: &[Form]| -> Vec<bool> {
        forms.iter().map(|form| matches(profile, form.list(), subject)).collect()
    };
    let value = |form: &Form| match form {
        Form::Text(text) => text.clone(),
        form => {
            let [_, Form::Text(name)] = form.list() else { panic!("not a value: {form:?}") };
            let known = profile.parameters.iter().find(|(known, _)| known == name);
            known.expect("a parameter has a value").1.to_string_lossy().into_owned()
        }
    };
    let (head, rest) = filter.split_first().expect("a filter has a name");
    match head.word().expect("a filter begins with a word") {
        "literal" | "global-name" => subject == value(&rest[0]),
        "subpath" => std::path::Path::new(subject).starts_with(value(&rest[0])),
        "regex" => pattern::matches(&value(&rest[0]), subject),
        "require-all" => nested(rest).into_iter().all(|held| held),
        "require-any" => nested(rest).into_iter().any(|held| held),
        "local" | "remote" => match rest[0].word() {
            Some("ip") => match rest.get(1) {
                None => subject == "ip" || subject.starts_with("ip "),
                Some(one) => subject.strip_prefix("ip ") == Some(value(one).as_str()),
            },
            Some("unix-socket") => {
                subject.starts_with('/') && nested(&rest[1..]).into_iter().all(|held| held)
            }
            other => panic!("unknown kind of address: {other:?}"),
        },
        // Not about paths: never true of what the tests ask.
        "extension"
        | "target"
        | "socket-domain"
        | "socket-protocol"
        | "sysctl-name"
        | "sysctl-name-prefix"
        | "ipc-posix-name"
        | "mac-policy-name"
        | "mac-syscall-number"
        | "ipc-posix-name-regex" => false,
        other => panic!("unknown filter: {other}"),
    }
}

/// The regular expressions of profiles.
pub(super) mod pattern {
    enum Part {
        Any,
        Class { not: bool, ranges: Vec<(u8, u8)> },
        Group(Vec<Vec<Piece>>),
        Start,
        End,
    }

    struct Piece {
        part: Part,
        least: usize,
        most: usize,
    }

    /// Returns whether the pattern matches somewhere in the text.
    pub(crate) fn matches(pattern: &str, text: &str) -> bool {
        let mut rest = pattern.as_bytes();
        let choices = choices(&mut rest);
        assert!(rest.is_empty(), "all of the pattern is read: {pattern}");
        let text = text.as_bytes();
        let accept = |_| true;
        (0..=text.len()).any(|at| choices.iter().any(|pieces| all(pieces, text, at, &accept)))
    }

    fn choices(rest: &mut &[u8]) -> Vec<Vec<Piece>> {
        let mut choices = vec![Vec::new()];
        while let Some((&byte, after)) = rest.split_first() {
            let last = choices.last_mut().expect("never empty");
            let part = match byte {
                b')' => break,
                b'|' => {
                    *rest = after;
                    choices.push(Vec::new());
                    continue;
                }
                b'(' => {
                    *rest = after;
                    assert_ne!(rest.first(), Some(&b'?'), "there are no flags");
                    let inner = self::choices(rest);
                    assert_eq!(rest.first(), Some(&b')'), "a group ends");
                    Part::Group(inner)
                }
                b'[' => class(rest, after),
                b'.' => Part::Any,
                b'^' => Part::Start,
                b'$' => Part::End,
                b'\\' | b'*' | b'+' | b'?' | b'{' | b'}' | b']' => panic!("unexpected {byte}"),
                byte => Part::Class { not: false, ranges: vec![(byte, byte)] },
            };
            *rest = &rest[1..];
            let (least, most) = match rest.first() {
                Some(b'?') => (0, 1),
                Some(b'*') => (0, usize::MAX),
                Some(b'+') => (1, usize::MAX),
                _ => (1, 1),
            };
            if (least, most) != (1, 1) {
                *rest = &rest[1..];
            }
            last.push(Piece { part, least, most });
        }
        choices
    }

    /// Reads a class, and leaves its last bracket to be read.
    fn class<'a>(rest: &mut &'a [u8], after: &'a [u8]) -> Part {
        let not = after.first() == Some(&b'^');
        let inside = &after[not as usize..];
        let end = inside.iter().position(|&b| b == b']').expect("a class ends");
        let (mut bytes, mut ranges) = (&inside[..end], Vec::new());
        while let Some((&low, more)) = bytes.split_first() {
            match more {
                [b'-', high, more @ ..] => {
                    ranges.push((low, *high));
                    bytes = more;
                }
                more => {
                    ranges.push((low, low));
                    bytes = more;
                }
            }
        }
        *rest = &inside[end..];
        Part::Class { not, ranges }
    }

    fn all(pieces: &[Piece], text: &[u8], at: usize, then: &dyn Fn(usize) -> bool) -> bool {
        match pieces.split_first() {
            None => then(at),
            Some((piece, rest)) => repeat(piece, 0, text, at, &|at| all(rest, text, at, then)),
        }
    }

    fn repeat(
        piece: &Piece,
        done: usize,
        text: &[u8],
        at: usize,
        then: &dyn Fn(usize) -> bool,
    ) -> bool {
        let more = || {
            done < piece.most
                && one(&piece.part, text, at, &|next| {
                    // A repeated part that takes nothing gets nowhere.
                    (next > at || piece.most == 1) && repeat(piece, done + 1, text, next, then)
                })
        };
        more() || (done >= piece.least && then(at))
    }

    fn one(part: &Part, text: &[u8], at: usize, then: &dyn Fn(usize) -> bool) -> bool {
        match part {
            Part::Any => at < text.len() && then(at + 1),
            Part::Class { not, ranges } => text.get(at).is_some_and(|byte| {
                ranges.iter().any(|(low, high)| (low..=high).contains(&byte)) != *not
                    && then(at + 1)
            }),
            Part::Group(choices) => choices.iter().any(|pieces| all(pieces, text, at, then)),
            Part::Start => at == 0 && then(at),
            Part::End => at == text.len() && then(at),
        }
    }
}
