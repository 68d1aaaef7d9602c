//! Files of lines `key = value`, as npm, pip and go write them.

/// One value of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The section that it is in; empty before the first.
    pub(super) section: String,
    pub(super) key: String,
    pub(super) value: String,
    pub(super) line: usize,
}

/// Reads a file. In a section, lines that begin with a blank go on with the value
/// before them, as pip writes lists.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut section = String::new();
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        let name = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if let Some(name) = name {
            section = name.trim().to_owned();
            continue;
        }
        let goes_on = !section.is_empty() && line.starts_with([' ', '\t']);
        if let Some(last) = entries.last_mut().filter(|_| goes_on) {
            last.value = format!("{}\n{}", last.value, unquoted(trimmed)).trim().to_owned();
            continue;
        }
        let Some((key, value)) = trimmed.split_once('=') else { continue };
        entries.push(Entry {
            section: section.clone(),
            key: key.trim().to_owned(),
            value: unquoted(value.trim()).to_owned(),
            line: number + 1,
        });
    }
    entries
}

/// Returns a value without the quotes around it.
pub(super) fn unquoted(value: &str) -> &str {
    let within = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    within('"').or_else(|| within('\'')).unwrap_or(value)
}

/// Returns a value with `${NAME}`, `${NAME-other}` and `${NAME:-other}` replaced,
/// as npm and yarn do. `None` if a variable has no value, or stands in the path of
/// an address: what is there goes into the sandbox, and may be a key.
pub(super) fn filled(value: &str, var: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut filled = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}')?;
        let (name, other) = match name.split_once('-') {
            Some((name, other)) => (name.trim_end_matches(':'), Some(other.to_owned())),
            None => (name.trim_end_matches('?'), None),
        };
        filled.push_str(before);
        let is_past_host =
            filled.split_once("://").is_some_and(|(_, rest)| rest.contains(['/', '?', '#']));
        match var(name) {
            Some(_) if is_past_host => return None,
            value => filled.push_str(&value.or(other)?),
        }
        rest = after;
    }
    Some(filled + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_with_their_sections_and_lines() {
        let text = "; no\nregistry=\"https://a.test/\"\n\n[global]\nindex-url = https://b.test/\n\
                    extra-index-url =\n    https://c.test/\n\t# not this\n\thttps://d.test/\n[x]\n\
                    no line\n";
        let got: Vec<_> = entries(text)
            .into_iter()
            .map(|entry| (entry.section, entry.key, entry.value, entry.line))
            .collect();
        let entry = |a: &str, b: &str, c: &str, line| (a.into(), b.into(), c.into(), line);
        let wanted = [
            entry("", "registry", "https://a.test/", 2),
            entry("global", "index-url", "https://b.test/", 5),
            entry("global", "extra-index-url", "https://c.test/\nhttps://d.test/", 6),
        ];
        assert_eq!(got, wanted);
    }

    #[test]
    fn variables_are_filled_in() {
        let var = |name: &str| (name == "HOST").then(|| "a.test".to_owned());
        let cases = [
            ("https://x/", Some("https://x/")),
            ("https://${HOST}/x", Some("https://a.test/x")),
            ("${HOST}", Some("a.test")),
            // Keys of the user are not told inside.
            ("https://${HOST}/${HOST}", None),
            ("https://a.test?${HOST}", None),
            ("https://${NONE}/", None),
            ("https://${NONE-b.test}/", Some("https://b.test/")),
            ("https://${NONE:-b.test}/", Some("https://b.test/")),
            ("https://${HOST:-b.test}/", Some("https://a.test/")),
            ("https://${HOST", None),
        ];
        for (value, wanted) in cases {
            assert_eq!(filled(value, var).as_deref(), wanted, "{value}");
        }
    }
}
