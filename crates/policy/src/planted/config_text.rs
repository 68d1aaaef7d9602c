//! Git's configuration format, read as git reads it.

/// The largest file that is looked at.
pub(super) const MAX_BYTES: usize = 1 << 20;

/// One setting. Two are the same when git could not tell them apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Setting {
    /// The section, in small letters.
    pub(super) section: Vec<u8>,
    /// What stands in quotes after it, or after a dot in the old form.
    pub(super) subsection: Option<Vec<u8>>,
    /// The name, in small letters.
    pub(super) name: Vec<u8>,
    /// The value; `None` for a name without `=`, which means true.
    pub(super) value: Option<Vec<u8>>,
}

/// The text is not in git's format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unreadable;

/// Returns all settings of a file.
pub(super) fn parse(text: &[u8]) -> Result<Vec<Setting>, Unreadable> {
    let mut settings = Vec::new();
    parse_into(text, &mut settings).map(|()| settings)
}

/// Adds the settings of a file, up to the first fault.
pub(super) fn parse_into(text: &[u8], settings: &mut Vec<Setting>) -> Result<(), Unreadable> {
    if text.len() > MAX_BYTES || text.contains(&0) {
        return Err(Unreadable);
    }
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut reader = Reader { text, at: 0 };
    // Git takes settings above the first header too, and then ignores them.
    let mut header: (Vec<u8>, Option<Vec<u8>>) = (Vec::new(), None);
    while let Some(byte) = reader.next() {
        match byte {
            _ if is_space(byte) => {}
            b'#' | b';' => while reader.next().is_some_and(|byte| byte != b'\n') {},
            b'[' => header = reader.header()?,
            byte if byte.is_ascii_alphabetic() => {
                let (section, subsection) = header.clone();
                let (name, value) = reader.setting(byte)?;
                settings.push(Setting { section, subsection, name, value });
            }
            _ => return Err(Unreadable),
        }
    }
    Ok(())
}

/// What git takes for white space, which is less than others do.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    /// Returns the next byte; a line can end in CR and LF.
    fn next(&mut self) -> Option<u8> {
        if self.text[self.at..].starts_with(b"\r\n") {
            self.at += 1;
        }
        let byte = *self.text.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// Reads `section]`, `section "subsection"]` or `section.subsection]`.
    fn header(&mut self) -> Result<(Vec<u8>, Option<Vec<u8>>), Unreadable> {
        let mut base = Vec::new();
        loop {
            match self.next().ok_or(Unreadable)? {
                b']' => break,
                byte if is_space(byte) => {
                    self.quoted(byte, &mut base)?;
                    break;
                }
                byte if is_key(byte) || byte == b'.' => base.push(byte.to_ascii_lowercase()),
                _ => return Err(Unreadable),
            }
        }
        Ok(match base.iter().position(|&byte| byte == b'.') {
            Some(dot) => (base[..dot].to_vec(), Some(base[dot + 1..].to_vec())),
            None => (base, None),
        })
    }

    /// Reads the quoted part of a header, whose white space starts with `byte`.
    fn quoted(&mut self, byte: u8, base: &mut Vec<u8>) -> Result<(), Unreadable> {
        let mut byte = byte;
        while is_space(byte) {
            if byte == b'\n' {
                return Err(Unreadable);
            }
            byte = self.next().ok_or(Unreadable)?;
        }
        if byte != b'"' {
            return Err(Unreadable);
        }
        base.push(b'.');
        loop {
            let byte = match self.next().ok_or(Unreadable)? {
                b'"' => break,
                b'\\' => self.next().ok_or(Unreadable)?,
                byte => byte,
            };
            if byte == b'\n' {
                return Err(Unreadable);
            }
            base.push(byte);
        }
        if self.next() == Some(b']') { Ok(()) } else { Err(Unreadable) }
    }

    /// Reads a name, which starts with `first`, and its value.
    fn setting(&mut self, first: u8) -> Result<(Vec<u8>, Option<Vec<u8>>), Unreadable> {
        let mut name = vec![first.to_ascii_lowercase()];
        let mut byte = self.next();
        while let Some(key) = byte.filter(|&byte| is_key(byte)) {
            name.push(key.to_ascii_lowercase());
            byte = self.next();
        }
        while matches!(byte, Some(b' ' | b'\t')) {
            byte = self.next();
        }
        match byte {
            None | Some(b'\n') => Ok((name, None)),
            Some(b'=') => Ok((name, Some(self.value()?))),
            Some(_) => Err(Unreadable),
        }
    }

    /// Reads a value to the end of its last line.
    fn value(&mut self) -> Result<Vec<u8>, Unreadable> {
        let mut value = Vec::new();
        // How much of it counts, should only white space follow.
        let mut end = 0;
        let (mut quoted, mut comment) = (false, false);
        loop {
            match self.next() {
                None | Some(b'\n') if quoted => return Err(Unreadable),
                None | Some(b'\n') => break,
                Some(_) if comment => continue,
                Some(byte) if is_space(byte) && !quoted => {
                    if !value.is_empty() {
                        value.push(byte);
                    }
                    continue;
                }
                Some(b';' | b'#') if !quoted => {
                    comment = true;
                    continue;
                }
                Some(b'\\') => match self.next() {
                    // The value goes on in the next line.
                    None | Some(b'\n') => {}
                    Some(b't') => value.push(b'\t'),
                    Some(b'b') => value.push(0x08),
                    Some(b'n') => value.push(b'\n'),
                    Some(byte @ (b'\\' | b'"')) => value.push(byte),
                    Some(_) => return Err(Unreadable),
                },
                Some(b'"') => quoted = !quoted,
                Some(byte) => value.push(byte),
            }
            end = value.len();
        }
        value.truncate(end);
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str) -> Option<String> {
        let settings = parse(text.as_bytes()).ok()?;
        let show = |setting: &Setting| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let mut key = text(&setting.section);
            if let Some(subsection) = &setting.subsection {
                key.push_str(&format!("<{}>", text(subsection)));
            }
            let value = setting.value.as_ref().map(|value| format!("={}", text(value)));
            format!("{key}.{}{}", text(&setting.name), value.unwrap_or_default())
        };
        Some(settings.iter().map(show).collect::<Vec<_>>().join("|"))
    }

    #[test]
    fn settings_are_read_as_git_reads_them() {
        let cases = [
            ("", Some("")),
            ("# c\n; d\n\n", Some("")),
            ("[a]\n\tb = c\n", Some("a.b=c")),
            ("\u{feff}[a]b=c", Some("a.b=c")),
            ("[a] b = c", Some("a.b=c")),
            ("[A]\nB-1 = C\n", Some("a.b-1=C")),
            ("[a]b", Some("a.b")),
            ("[a]b  \nc", Some("a.b|a.c")),
            ("[a]b=\n", Some("a.b=")),
            ("[a]\r\nb = c\r\nd\r\n", Some("a.b=c|a.d")),
            ("[a \"B c\"]d=1", Some("a<B c>.d=1")),
            ("[a   \"B\"]d=1", Some("a<B>.d=1")),
            ("[a \"x\\\"y\\\\z\\q\"]d=1", Some("a<x\"y\\zq>.d=1")),
            ("[a.B.c]d=1", Some("a<b.c>.d=1")),
            ("[a.b \"C\"]d=1", Some("a<b.C>.d=1")),
            ("[a \"\"]d=1", Some("a<>.d=1")),
            ("[a]b = c # d\n", Some("a.b=c")),
            ("[a]b = c;d\n", Some("a.b=c")),
            ("[a]b = \"c # d\" ; e\n", Some("a.b=c # d")),
            ("[a]b = c\\\n  d\n", Some("a.b=c  d")),
            ("[a]b = c \\\n\n", Some("a.b=c ")),
            ("[a]b = c\\", Some("a.b=c")),
            ("[a]b = \\\nc\n", Some("a.b=c")),
            ("[a]b = c # d\\\ne = f\n", Some("a.b=c|a.e=f")),
            ("[a]b = \"x \"  \n", Some("a.b=x ")),
            ("[a]b = x\"y\"z\n", Some("a.b=xyz")),
            ("[a]b = x  y\n", Some("a.b=x  y")),
            ("[a]b = \\t\\n\\b\\\\\\\"\n", Some("a.b=\t\n\u{8}\\\"")),
            ("[a]b=c\n[d]e=f\n[a]b=g", Some("a.b=c|d.e=f|a.b=g")),
            ("[a][d]e=f", Some("d.e=f")),
            ("b = c\n", Some(".b=c")),
            ("[a\nb=c", None),
            ("[a b]c=d", None),
            ("[a \"b]c=d\n", None),
            ("[a \"b\" ]c=d\n", None),
            ("[a_b]c=d\n", None),
            ("[a]1b=c\n", None),
            ("[a]b_c=d\n", None),
            ("[a]b : c\n", None),
            ("[a]b # c\n", None),
            ("[a]b = \"c\n", None),
            ("[a]b = \\x\n", None),
            ("[a]\u{b}b=c\n", None),
            ("[a]b = \0\n", None),
            ("=\n", None),
        ];
        for (text, want) in cases {
            assert_eq!(shown(text).as_deref(), want, "{text:?}");
        }
        let long = format!("[a]b={}", "x".repeat(MAX_BYTES));
        assert_eq!(parse(long.as_bytes()), Err(Unreadable));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&text);
        }

        #[test]
        fn text_in_the_format_is_read_or_refused(
            text in "(\\[[a-c]( \"[a-c.\\\\]{0,3}\")?\\]|[a-c=\" \\\\#\n\r\t]){0,30}",
        ) {
            let _ = parse(text.as_bytes());
        }
    }
}
