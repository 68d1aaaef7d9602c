//! `.gitattributes`: which files go through drivers, and so through programs.

use std::collections::BTreeSet;

/// Ways to show differences that are built into git.
const DIFF: &str = "ada bash bibtex cpp csharp css default dts elixir fortran fountain golang \
                    html ini java kotlin markdown matlab objc pascal perl php python r ruby rust \
                    scheme tex";

/// Drivers that run nothing, or only what the user has installed for git itself.
const DRIVERS: [(&[u8], &[&str]); 3] =
    [(b"filter", &["lfs"]), (b"diff", &[DIFF, "lfs"]), (b"merge", &["text binary union", "lfs"])];

/// Returns whether no line that is new names a driver that could be a program.
pub(super) fn is_harmless(now: &[u8], before: Option<&[u8]>) -> bool {
    let known: BTreeSet<&[u8]> = before.map(lines).into_iter().flatten().collect();
    !now.contains(&0) && lines(now).all(|line| known.contains(line) || is_plain(line))
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    text.split(|&byte| byte == b'\n').map(|line| {
        let start = line.iter().take_while(|byte| is_blank(**byte)).count();
        &line[start..]
    })
}

/// What git takes for white space here, which is less than others do.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

fn is_plain(line: &[u8]) -> bool {
    let mut words = line.split(|&byte| is_blank(byte));
    line.starts_with(b"#") || words.all(|word| word_ends(word).all(is_harmless_word))
}

/// Returns a word, and what of it follows a quote: an attribute can follow the
/// quote that ends a pattern without white space.
fn word_ends(word: &[u8]) -> impl Iterator<Item = &[u8]> {
    let quotes = word.iter().enumerate().filter(|(_, byte)| **byte == b'"');
    std::iter::once(word).chain(quotes.map(|(at, _)| &word[at + 1..]))
}

fn is_harmless_word(word: &[u8]) -> bool {
    let Some(equals) = word.iter().position(|&byte| byte == b'=') else { return true };
    let (name, driver) = (&word[..equals], &word[equals + 1..]);
    let drivers = DRIVERS.iter().find(|(known, _)| *known == name);
    drivers.is_none_or(|(_, lists)| {
        let mut words = lists.iter().flat_map(|list| list.split_whitespace());
        words.any(|word| word.as_bytes() == driver)
    })
}
