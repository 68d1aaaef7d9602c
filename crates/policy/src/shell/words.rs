//! Splits a command line that runs without a shell.
//!
//! Such a command has no variables, patterns or pipes. A line that uses one is
//! refused rather than run with the sign as text, because whoever wrote it meant
//! something else.

/// Why a line is not just a program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotPlain {
    /// A character that only a shell acts on.
    #[error(
        "the character {} (at byte {at}) has a meaning for shells only, and this command runs \
         without one; quote it if it is text",
        shown(*.character)
    )]
    ForShells {
        /// The character.
        character: char,
        /// Where, in bytes from the start.
        at: usize,
    },
    /// A `$` or backquote in double quotes.
    #[error(
        "the character {} (at byte {at}) has a meaning for shells in double quotes too, and this \
         command runs without one; put it in single quotes if it is text",
        shown(*.character)
    )]
    InQuotes {
        /// The character.
        character: char,
        /// Where, in bytes from the start.
        at: usize,
    },
    /// The line begins as an assignment does.
    #[error(
        "'{name}=…' sets a variable for shells only, and this command runs without one; quote it \
         if it is the name of a program"
    )]
    Assignment {
        /// The variable.
        name: String,
    },
    /// A quote that is not closed.
    #[error("the quote at byte {at} has no end")]
    Open {
        /// Where it begins.
        at: usize,
    },
    /// Nothing follows the last backslash.
    #[error("the backslash at the end escapes nothing")]
    Backslash,
    /// A NUL cannot be part of an argument.
    #[error("the line has a NUL character (at byte {at})")]
    Nul {
        /// Where, in bytes from the start.
        at: usize,
    },
    /// There is no program.
    #[error("there is no command")]
    Empty,
}

fn shown(character: char) -> String {
    match character {
        '\n' => "for a line end".to_owned(),
        '\r' => "for a carriage return".to_owned(),
        _ => format!("'{character}'"),
    }
}

/// Returns the program and its arguments.
///
/// Words are split as POSIX says, with single and double quotes and backslashes,
/// and nothing is expanded.
///
/// # Errors
/// Where a shell would do more with the line than split it.
pub fn split(text: &str) -> Result<Vec<String>, NotPlain> {
    if let Some(at) = text.find('\0') {
        return Err(NotPlain::Nul { at });
    }
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    // Whether the word so far is only a name outside of quotes.
    let mut bare = true;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        match c {
            ' ' | '\t' => {
                words.extend(word.take());
                bare = true;
            }
            '\'' => {
                let value = word.get_or_insert_default();
                bare = false;
                loop {
                    match chars.next() {
                        Some((_, '\'')) => break,
                        Some((_, c)) => value.push(c),
                        None => return Err(NotPlain::Open { at }),
                    }
                }
            }
            '"' => {
                double_quoted(&mut chars, at, word.get_or_insert_default())?;
                bare = false;
            }
            '\\' => match chars.next() {
                None => return Err(NotPlain::Backslash),
                Some((at, '\n')) => return Err(NotPlain::ForShells { character: '\n', at }),
                Some((_, c)) => {
                    word.get_or_insert_default().push(c);
                    bare = false;
                }
            },
            _ if for_shells(c, word.is_none(), next) => {
                return Err(NotPlain::ForShells { character: c, at });
            }
            '=' if words.is_empty() && bare && word.as_deref().is_some_and(is_name) => {
                return Err(NotPlain::Assignment { name: word.unwrap_or_default() });
            }
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if words.is_empty() {
        return Err(NotPlain::Empty);
    }
    Ok(words)
}

/// Returns whether a shell would act on an unquoted character.
fn for_shells(c: char, starts_word: bool, next: Option<char>) -> bool {
    match c {
        '\n' | '\r' => true,
        '|' | '&' | ';' | '<' | '>' | '(' | ')' | '$' | '`' => true,
        '*' | '?' | '[' | ']' | '{' | '}' => true,
        '~' | '#' => starts_word,
        '!' => starts_word && next.is_none_or(|next| matches!(next, ' ' | '\t' | '\n')),
        _ => false,
    }
}

/// Returns whether `name=` would be an assignment; `name+` is for `name+=`.
fn is_name(name: &str) -> bool {
    let name = name.strip_suffix('+').unwrap_or(name);
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(plain)
}

/// Reads the rest of `"…"`, which began at `start`.
fn double_quoted(
    chars: &mut std::iter::Peekable<std::str::CharIndices<'_>>,
    start: usize,
    word: &mut String,
) -> Result<(), NotPlain> {
    loop {
        match chars.next() {
            None => return Err(NotPlain::Open { at: start }),
            Some((_, '"')) => return Ok(()),
            Some((at, character @ ('$' | '`'))) => {
                return Err(NotPlain::InQuotes { character, at });
            }
            Some((_, '\\')) => match chars.peek().copied() {
                Some((_, c @ ('$' | '`' | '"' | '\\'))) => {
                    chars.next();
                    word.push(c);
                }
                Some((at, character @ '\n')) => return Err(NotPlain::ForShells { character, at }),
                _ => word.push('\\'),
            },
            Some((_, c)) => word.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_would_without_expansions() {
        let cases: [(&str, &[&str]); 14] = [
            ("ls", &["ls"]),
            ("  ls \t -l  ", &["ls", "-l"]),
            (r#"git commit -m "a & b""#, &["git", "commit", "-m", "a & b"]),
            (r#"grep "a|b" f"#, &["grep", "a|b", "f"]),
            ("echo 'a b'c\"d e\"", &["echo", "a bcd e"]),
            ("echo '' \"\"", &["echo", "", ""]),
            (r"echo a\ b \| \$x \'", &["echo", "a b", "|", "$x", "'"]),
            (r#"echo "\$x \" \\ \a""#, &["echo", r#"$x " \ \a"#]),
            (r"echo '$x' '\'", &["echo", "$x", r"\"]),
            ("echo 'a\nb' \"c\nd\"", &["echo", "a\nb", "c\nd"]),
            ("make CC=gcc x=~", &["make", "CC=gcc", "x=~"]),
            ("'A=1' x", &["A=1", "x"]),
            ("a-b=1 HEAD~1 a#b !x x! é", &["a-b=1", "HEAD~1", "a#b", "!x", "x!", "é"]),
            ("--opt=a,b ^x %1 @", &["--opt=a,b", "^x", "%1", "@"]),
        ];
        for (text, words) in cases {
            assert_eq!(split(text).unwrap(), words, "{text}");
        }
    }

    #[test]
    fn what_only_a_shell_acts_on_is_refused_with_its_place() {
        let cases = [
            ("a | b", '|', 2),
            ("a&&b", '&', 1),
            ("a;b", ';', 1),
            ("a <f", '<', 2),
            ("a >f", '>', 2),
            ("(a)", '(', 0),
            ("a )", ')', 2),
            ("a $x", '$', 2),
            ("a `b`", '`', 2),
            ("a *", '*', 2),
            ("a b?", '?', 3),
            ("[ a ]", '[', 0),
            ("a ]", ']', 2),
            ("a {b,c}", '{', 2),
            ("a }", '}', 2),
            ("a ~/b", '~', 2),
            ("a #b", '#', 2),
            ("! a", '!', 0),
            ("a !", '!', 2),
            ("a\nb", '\n', 1),
            ("a \\\n b", '\n', 3),
            ("a \"b\\\nc\"", '\n', 5),
            ("a\r", '\r', 1),
        ];
        for (text, character, at) in cases {
            assert_eq!(split(text), Err(NotPlain::ForShells { character, at }), "{text}");
        }
        let quoted = [("a \"$x\"", '$', 3), ("a \"b `c`\"", '`', 5)];
        for (text, character, at) in quoted {
            assert_eq!(split(text), Err(NotPlain::InQuotes { character, at }), "{text}");
        }
    }

    #[test]
    fn what_is_no_command_is_refused() {
        let set = |name: &str| NotPlain::Assignment { name: name.to_owned() };
        let cases = [
            ("A=1 ls", set("A")),
            ("A+=1 ls", set("A+")),
            ("A=", set("A")),
            ("a 'b", NotPlain::Open { at: 2 }),
            ("a \"b\\\"", NotPlain::Open { at: 2 }),
            ("a \\", NotPlain::Backslash),
            ("a\0b", NotPlain::Nul { at: 1 }),
            ("", NotPlain::Empty),
            (" \t ", NotPlain::Empty),
        ];
        for (text, why) in cases {
            assert_eq!(split(text), Err(why), "{text:?}");
        }
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let said = split("a | b").unwrap_err().to_string();
        assert_eq!(
            said,
            "the character '|' (at byte 2) has a meaning for shells only, and this command runs \
             without one; quote it if it is text"
        );
    }
}
