//! The small part of YAML that package managers write into their settings: maps
//! and lists by indentation, of plain and quoted values in one line.

use super::ini::unquoted;

/// One value of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The keys that lead to it; an item of a list has the list's.
    pub(super) path: Vec<String>,
    pub(super) value: String,
    pub(super) line: usize,
}

impl Entry {
    /// Returns whether the keys that lead to it are these.
    pub(super) fn is_at(&self, path: &[&str]) -> bool {
        self.path.iter().map(String::as_str).eq(path.iter().copied())
    }
}

/// Reads a file. What it does not understand it leaves out.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    // The keys around a line, each with how far it is indented.
    let mut around: Vec<(usize, String)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line_number = number + 1;
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', '%']) || trimmed == "---" {
            continue;
        }
        let mut depth = line.len() - line.trim_start().len();
        let mut rest = trimmed;
        let mut is_item = false;
        while let Some(item) = rest.strip_prefix("- ") {
            // An item may stand right below its list's key.
            around.retain(|(at, _)| *at <= depth);
            depth += rest.len() - item.trim_start().len();
            rest = item.trim_start();
            is_item = true;
        }
        match key_of(rest) {
            Some((key, value)) => {
                around.retain(|(at, _)| *at < depth);
                around.push((depth, key.to_owned()));
                let value = plain(value);
                if !value.is_empty() {
                    let path = keys(&around);
                    entries.push(Entry { path, value: value.to_owned(), line: line_number });
                }
            }
            None if is_item => {
                let (path, value) = (keys(&around), plain(rest).to_owned());
                entries.push(Entry { path, value, line: line_number });
            }
            None => {}
        }
    }
    entries
}

fn keys(around: &[(usize, String)]) -> Vec<String> {
    around.iter().map(|(_, key)| key.clone()).collect()
}

/// Splits `key: value`; the colon of a URL in a key is none.
fn key_of(line: &str) -> Option<(&str, &str)> {
    if let Some(quote) = line.chars().next().filter(|c| "\"'".contains(*c)) {
        let (key, rest) = line.get(1..)?.split_once(quote)?;
        return Some((key, rest.trim_start().strip_prefix(':')?));
    }
    let (key, value) = match line.split_once(": ") {
        Some(parts) => parts,
        None => (line.strip_suffix(':')?, ""),
    };
    Some((key.trim_end(), value))
}

/// Returns a value without quotes and without a comment after it.
fn plain(value: &str) -> &str {
    let value = value.trim();
    if let Some(quote) = value.chars().next().filter(|c| "\"'".contains(*c)) {
        let rest = value.get(1..).unwrap_or_default();
        return rest.split_once(quote).map_or_else(|| unquoted(value), |(inner, _)| inner);
    }
    let value = value.split_once(" #").map_or(value, |(value, _)| value);
    if value.starts_with('#') { "" } else { value.trim() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_and_lists_are_read_with_their_lines() {
        let text = "---\n# a comment\nnpmRegistryServer: \"https://a.test\" # here\nnpmScopes:\n  \
                    acme:\n    npmRegistryServer: https://b.test\n  'two':\n    npmRegistryServer: \
                    'https://c.test'\nlast: 1\n:sources:\n- https://d.test/\n\
                    - \"https://e.test/\"\n\
                    BUNDLE_MIRROR__HTTPS://F__TEST/: \"https://g.test/\"\nlist:\n  - url: \
                    https://h.test\n    name: x\n  - url: https://i.test\n";
        let got: Vec<String> = entries(text)
            .into_iter()
            .map(|entry| format!("{} {}={}", entry.line, entry.path.join("/"), entry.value))
            .collect();
        let wanted = [
            "3 npmRegistryServer=https://a.test",
            "6 npmScopes/acme/npmRegistryServer=https://b.test",
            "8 npmScopes/two/npmRegistryServer=https://c.test",
            "9 last=1",
            "11 :sources:=https://d.test/",
            "12 :sources:=https://e.test/",
            "13 BUNDLE_MIRROR__HTTPS://F__TEST/=https://g.test/",
            "15 list/url=https://h.test",
            "16 list/name=x",
            "17 list/url=https://i.test",
        ];
        let wanted: Vec<String> = wanted.map(|line| line.replace(":sources:=", ":sources=")).into();
        assert_eq!(got, wanted);
    }

    #[test]
    fn nothing_makes_it_fail() {
        for text in ["", ":", "- ", "-", "\"", "'a': ", "a: \"b", "\t- - - x", "é: ü", "'é"] {
            entries(text);
        }
        assert_eq!(entries("a: \"b").first().map(|entry| entry.value.as_str()), Some("\"b"));
    }
}
