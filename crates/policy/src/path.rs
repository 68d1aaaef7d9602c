//! Paths as the agent writes them, normalised once and then never again.
//!
//! [`AgentPath::parse`] is the only way from text to a path. It removes `.`,
//! `..`, doubled slashes and `~` by the text alone, before anything looks at the
//! result; what every check, every effect and every record sees is the same
//! value. Names are bytes, as they are on disk: bytes that are not UTF-8, and
//! control characters, are shown and accepted as `\xNN` (see [`unescape`]).

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The longest path that is accepted, in bytes.
pub const MAX_PATH: usize = 4096;
/// The longest name that is accepted, in bytes.
pub const MAX_NAME: usize = 255;

/// Why a text is not a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// The text is empty.
    #[error("the path is empty")]
    Empty,
    /// The text has a NUL character.
    #[error("the path contains a NUL character")]
    Nul,
    /// The text is longer than [`MAX_PATH`].
    #[error("the path is longer than {MAX_PATH} bytes")]
    TooLong,
    /// A name in it is longer than [`MAX_NAME`].
    #[error("a name in the path is longer than {MAX_NAME} bytes")]
    NameTooLong,
    /// `~name` asks for somebody else's home.
    #[error("'~' can only stand alone or before a slash")]
    OtherHome,
}

/// An absolute, normalised path in the agent's view.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct AgentPath(RelPath);

impl AgentPath {
    /// Returns `/`.
    pub fn root() -> Self {
        AgentPath(RelPath::root())
    }

    /// Reads a path as the agent wrote it.
    ///
    /// Relative paths start at `base`, `~` is `home`. `..` at the root stays at
    /// the root, as on every Unix. Links play no part: `a/link/../b` is `a/b`.
    pub fn parse(text: &str, base: &AgentPath, home: &AgentPath) -> Result<Self, PathError> {
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        if text.len() > MAX_PATH * 4 {
            return Err(PathError::TooLong);
        }
        let bytes = unescape(text);
        if bytes.contains(&0) {
            return Err(PathError::Nul);
        }
        if bytes.len() > MAX_PATH {
            return Err(PathError::TooLong);
        }
        let (mut names, rest): (Vec<&[u8]>, &[u8]) = match &*bytes {
            [b'/', rest @ ..] => (Vec::new(), rest),
            [b'~'] => (home.0.names().collect(), &[]),
            [b'~', b'/', rest @ ..] => (home.0.names().collect(), rest),
            [b'~', ..] => return Err(PathError::OtherHome),
            all => (base.0.names().collect(), all),
        };
        for name in rest.split(|&b| b == b'/') {
            match name {
                b"" | b"." => {}
                b".." => {
                    names.pop();
                }
                name if name.len() > MAX_NAME => return Err(PathError::NameTooLong),
                name => names.push(name),
            }
        }
        let path = RelPath::from_names(names);
        if path.0.len() >= MAX_PATH {
            return Err(PathError::TooLong);
        }
        Ok(AgentPath(path))
    }

    /// Reads an absolute path; for configuration, where no base is known yet.
    pub fn absolute(text: &str) -> Result<Self, PathError> {
        Self::parse(text, &AgentPath::root(), &AgentPath::root())
    }

    /// Returns the first name and the path below it, or `None` for `/`.
    pub fn split_first(&self) -> Option<(&[u8], RelPath)> {
        let mut names = self.0.names();
        let first = names.next()?;
        Some((first, RelPath::from_names(names)))
    }

    /// Returns the path `name/below`, where `name` is a top directory.
    pub fn of(name: &str, below: &RelPath) -> Self {
        AgentPath(RelPath::from_names(std::iter::once(name.as_bytes()).chain(below.names())))
    }

    /// Returns the agent path with the same names as a host path; `None` for `/` and for
    /// a path that is relative or has `..` in it.
    pub fn of_host(path: &Path) -> Option<Self> {
        RelPath::below(Path::new("/"), path).map(AgentPath)
    }

    /// Returns the host path with the same names.
    pub fn as_host(&self) -> PathBuf {
        Path::new("/").join(OsStr::from_bytes(self.0.as_bytes()))
    }

    /// Returns the path one `name` further down.
    ///
    /// # Panics
    /// As [`RelPath::join`] does.
    pub fn join(&self, name: &[u8]) -> Self {
        AgentPath(self.0.join(name))
    }

    /// Returns `below` placed below this path.
    pub fn join_rel(&self, below: &RelPath) -> Self {
        AgentPath(self.0.join_rel(below))
    }

    /// Returns the path below `dir`, if it is `dir` or lies in it.
    pub fn below(&self, dir: &AgentPath) -> Option<RelPath> {
        if !self.0.starts_with(&dir.0) {
            return None;
        }
        let above = dir.0.names().count();
        Some(RelPath::from_names(self.0.names().skip(above)))
    }

    /// Returns whether this is `/`.
    pub fn is_root(&self) -> bool {
        self.0.is_root()
    }

    /// Returns the path as text, as `Display` does, without a detour for the
    /// plain names that most have.
    pub fn shown(&self) -> String {
        let bytes = self.0.as_bytes();
        match std::str::from_utf8(bytes) {
            Ok(text) if bytes.iter().all(|&b| is_plain(b)) => ["/", text].concat(),
            _ => self.to_string(),
        }
    }

    /// Returns the path without its first slash.
    pub fn as_rel(&self) -> &RelPath {
        &self.0
    }
}

impl fmt::Display for AgentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}", escape(self.0.as_bytes()))
    }
}

/// A normalised path below some directory: no `.`, no `..`, no leading slash.
///
/// The empty path is the directory itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct RelPath(Vec<u8>);

impl RelPath {
    /// Returns the directory itself.
    pub fn root() -> Self {
        RelPath(Vec::new())
    }

    /// Joins names that are known to be plain.
    fn from_names<'a>(names: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut bytes = Vec::with_capacity(64);
        for name in names {
            if !bytes.is_empty() {
                bytes.push(b'/');
            }
            bytes.extend_from_slice(name);
        }
        RelPath(bytes)
    }

    /// Returns a host's path as one below a directory; `None` where it is not below it,
    /// or is the directory itself.
    pub fn below(dir: &Path, path: &Path) -> Option<RelPath> {
        let names = path.strip_prefix(dir).ok()?.components().map(|part| match part {
            Component::Normal(name) => Some(name.as_bytes()),
            _ => None,
        });
        let path = RelPath::from_names(names.collect::<Option<Vec<_>>>()?);
        (!path.is_root()).then_some(path)
    }

    /// Returns the path one `name` further down.
    ///
    /// # Panics
    /// When `name` is empty, `.`, `..`, or contains a slash or NUL: names come
    /// from a directory listing or from another path, where none of these occur.
    pub fn join(&self, name: &[u8]) -> RelPath {
        assert!(is_plain_name(name), "a file name is one plain component");
        RelPath::from_names(self.names().chain(std::iter::once(name)))
    }

    /// Returns `below` placed below this path.
    pub fn join_rel(&self, below: &RelPath) -> RelPath {
        RelPath::from_names(self.names().chain(below.names()))
    }

    /// Returns whether this is the directory itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names from the top down.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &[u8]> + Clone {
        self.0.split(|&b| b == b'/').filter(|name| !name.is_empty())
    }

    /// Returns the last name.
    pub fn file_name(&self) -> Option<&[u8]> {
        self.names().next_back()
    }

    /// Returns the directory that holds the last name, and that name.
    pub fn split_last(&self) -> Option<(RelPath, &[u8])> {
        let name = self.file_name()?;
        let end = self.0.len().saturating_sub(name.len() + 1);
        Some((RelPath(self.0[..end].to_vec()), name))
    }

    /// Returns the bytes, names separated by slashes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns whether this path is `other` or lies below it.
    pub fn starts_with(&self, other: &RelPath) -> bool {
        other.is_root()
            || (self.0.starts_with(&other.0)
                && matches!(self.0.get(other.0.len()), None | Some(b'/')))
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape(&self.0))
    }
}

/// Returns whether `name` can stand for one entry of a directory.
pub fn is_plain_name(name: &[u8]) -> bool {
    !name.is_empty() && name != b"." && name != b".." && !name.contains(&b'/') && !name.contains(&0)
}

/// Writes a name so that it can be shown, and read back by [`unescape`].
///
/// Bytes that are not UTF-8 and control characters become `\xNN`, and so does a
/// backslash that stands before an `x`. Everything else stays as it is.
pub fn escape(bytes: &[u8]) -> String {
    if bytes.iter().all(|&b| is_plain(b)) {
        return String::from_utf8(bytes.to_vec()).expect("ASCII is UTF-8");
    }
    let mut out = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        let mut chars = chunk.valid().chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\\' if chars.peek() == Some(&'x') => out.push_str("\\x5c"),
                c if c < ' ' || c == '\x7f' => out.push_str(&format!("\\x{:02x}", c as u32)),
                c => out.push(c),
            }
        }
        for b in chunk.invalid() {
            out.push_str(&format!("\\x{b:02x}"));
        }
    }
    out
}

/// Returns whether a byte is shown as it is.
fn is_plain(byte: u8) -> bool {
    (0x20..0x7f).contains(&byte) && byte != b'\\'
}

/// Reads what [`escape`] wrote: `\xNN` for a control character, a backslash or
/// a byte from 80 on. No other byte can be written this way, so neither a slash
/// nor a dot can be hidden in an escape.
pub fn unescape(text: &str) -> Cow<'_, [u8]> {
    let bytes = text.as_bytes();
    if !bytes.contains(&b'\\') {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        if let [b'\\', b'x', high, low, ..] = bytes[i..]
            && let Some(byte) = hex(high, low)
            && (byte < 0x20 || byte == 0x5c || byte >= 0x7f)
        {
            out.push(byte);
            i += 4;
        } else {
            out.push(bytes[i]);
            i += 1;
        }
    }
    Cow::Owned(out)
}

fn hex(high: u8, low: u8) -> Option<u8> {
    let digit = |b: u8| match b {
        b'0'..=b'9' => Some(b - b'0'),
        b'a'..=b'f' => Some(b - b'a' + 10),
        _ => None,
    };
    Some(digit(high)? << 4 | digit(low)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<String, PathError> {
        let base = AgentPath::absolute("/work/dir").unwrap();
        let home = AgentPath::absolute("/home").unwrap();
        AgentPath::parse(text, &base, &home).map(|p| p.to_string())
    }

    #[test]
    fn paths_are_below_a_directory_by_whole_names() {
        let dir = Path::new("/a/b");
        let below = |path: &str| RelPath::below(dir, Path::new(path)).map(|path| path.to_string());
        assert_eq!(below("/a/b//c/./d").as_deref(), Some("c/d"));
        for path in ["/a/b", "/a/b/.", "/a/bc", "/a", "/", "/a/b/c/../../x", "c"] {
            assert_eq!(below(path), None, "{path}");
        }
    }

    #[test]
    fn paths_are_normalised_by_their_text() {
        let cases = [
            ("/input/a.txt", "/input/a.txt"),
            ("//input///a.txt/", "/input/a.txt"),
            ("a.txt", "/work/dir/a.txt"),
            ("./a/./b", "/work/dir/a/b"),
            ("../x", "/work/x"),
            ("../../../../etc/passwd", "/etc/passwd"),
            ("/drafts/../final/x", "/final/x"),
            ("/allowed/../secret/k", "/secret/k"),
            ("/..", "/"),
            (".", "/work/dir"),
            ("~", "/home"),
            ("~/x", "/home/x"),
            ("/a/~", "/a/~"),
            ("/a/...", "/a/..."),
            ("/a/ ", "/a/ "),
            ("/caf\\xe9", "/caf\\xe9"),
            ("/a\\x2e\\x2e/b", "/a\\x5cx2e\\x5cx2e/b"),
            ("/a\\x0ab", "/a\\x0ab"),
            ("/é", "/é"),
            ("/\\xc3\\xa9", "/é"),
        ];
        for (given, want) in cases {
            assert_eq!(parse(given).as_deref(), Ok(want), "given {given:?}");
        }
    }

    #[test]
    fn what_cannot_be_a_path_is_refused() {
        assert_eq!(parse(""), Err(PathError::Empty));
        assert_eq!(parse("/a\0b"), Err(PathError::Nul));
        assert_eq!(parse("/a\\x00b"), Err(PathError::Nul));
        assert_eq!(parse("~bob/x"), Err(PathError::OtherHome));
        assert_eq!(parse(&"a".repeat(256)), Err(PathError::NameTooLong));
        assert_eq!(parse(&"a/".repeat(2049)), Err(PathError::TooLong));
        assert_eq!(
            parse(&"a/".repeat(2048)),
            Err(PathError::TooLong),
            "with the base it is too long"
        );
        assert!(parse(&format!("/{}", "a/".repeat(2047))).is_ok());
    }

    proptest! {
        #[test]
        fn normalising_leaves_no_dots_and_is_idempotent(text in ".{1,60}") {
            if let Ok(shown) = parse(&text) {
                prop_assert!(shown.starts_with('/'));
                for name in shown[1..].split('/') {
                    prop_assert!(name != "." && name != "..");
                    prop_assert!(shown == "/" || !name.is_empty());
                }
                prop_assert_eq!(parse(&shown), Ok(shown.clone()));
                prop_assert_eq!(AgentPath::absolute(&shown).map(|path| path.shown()), Ok(shown));
            }
        }

        #[test]
        fn dotted_paths_normalise_as_a_stack_would(
            parts in prop::collection::vec(prop_oneof![
                Just("."), Just(".."), Just(""), Just("a"), Just("b c"), Just("..."),
            ], 0..12)
        ) {
            let mut stack: Vec<&str> = Vec::new();
            for part in &parts {
                match *part {
                    "." | "" => {}
                    ".." => { stack.pop(); }
                    name => stack.push(name),
                }
            }
            let text = format!("/{}", parts.join("/"));
            prop_assert_eq!(parse(&text), Ok(format!("/{}", stack.join("/"))));
        }

        #[test]
        fn every_name_can_be_shown_and_read_back(name in prop::collection::vec(1u8.., 1..20)) {
            prop_assume!(is_plain_name(&name));
            let shown = escape(&name);
            prop_assert_eq!(&*unescape(&shown), &*name);
            let path = RelPath::root().join(&name);
            prop_assert_eq!(path.file_name(), Some(name.as_slice()));
        }
    }
}
