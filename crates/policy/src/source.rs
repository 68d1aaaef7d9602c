//! Where a rule comes from, so that every verdict can name the line that decided.

use std::fmt;
use std::sync::Arc;

/// The place a value was written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum At {
    /// Nobody wrote it: it is what holds when the file is silent.
    #[default]
    Default,
    /// A command-line flag, or the embedding program; the text names it.
    Flag(Arc<str>),
    /// A line of a project or worker file. Lines and columns start at 1.
    File {
        /// The file's name as it should be shown.
        file: Arc<str>,
        /// The line.
        line: u32,
        /// The column, in characters.
        column: u32,
    },
}

impl At {
    /// Returns the place as a flag or embedding-program setting.
    pub fn flag(text: impl Into<Arc<str>>) -> At {
        At::Flag(text.into())
    }

    /// Returns the file and line, where there is one.
    pub fn file_line(&self) -> Option<(&str, u32)> {
        match self {
            At::File { file, line, .. } => Some((file, *line)),
            _ => None,
        }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Default => f.write_str("the default"),
            At::Flag(text) => f.write_str(text),
            At::File { file, line, .. } => write!(f, "{file}:{line}"),
        }
    }
}

/// A value together with the place it was written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ruled<T> {
    /// The value.
    pub value: T,
    /// Where it comes from.
    pub at: At,
}

impl<T> Ruled<T> {
    /// Returns `value`, written at `at`.
    pub fn new(value: T, at: At) -> Self {
        Ruled { value, at }
    }

    /// Returns `value` as a default that nobody wrote.
    pub fn default_of(value: T) -> Self {
        Ruled { value, at: At::Default }
    }

    /// Returns whether somebody wrote the value, in a file or a flag.
    pub fn is_written(&self) -> bool {
        self.at != At::Default
    }
}
