//! A command line as the rules see it: the simple commands that it would run.

use std::fmt;

/// One word of a command, as far as it is known before the command runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Word {
    /// Its value, without quotes.
    Known(String),
    /// A pattern that the shell replaces by the names of files.
    Glob {
        /// The pattern, without quotes.
        text: String,
        /// What stands before the first special character: every name begins so.
        fixed: String,
    },
    /// Something that only the running shell knows.
    Unknown {
        /// The word as it is written.
        raw: String,
    },
}

impl Word {
    /// Returns the value, where it is known.
    pub fn known(&self) -> Option<&str> {
        match self {
            Word::Known(text) => Some(text),
            Word::Glob { .. } | Word::Unknown { .. } => None,
        }
    }
}

/// What a redirection does with its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RedirectKind {
    /// `<`: reads a file.
    Read,
    /// `>`, `>|`, `&>`, and `>&` with a name: replaces a file.
    Write,
    /// `>>`, `&>>`: adds to a file.
    Append,
    /// `<>`: opens a file for both.
    Both,
    /// `>&2`, `<&3`, `2>&-`: another descriptor.
    Duplicate,
    /// A here-document or here-string: text.
    Text,
}

/// A redirection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Redirect {
    /// What it does.
    pub kind: RedirectKind,
    /// The descriptor, where one is written: `2` of `2>x`.
    pub fd: Option<String>,
    /// The file, descriptor or text.
    pub target: Word,
}

/// Where in a line a command stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Within {
    /// In a pipeline of more than one command.
    Pipeline,
    /// In the background.
    Background,
    /// In `( )`.
    Subshell,
    /// In `$( )` or backquotes.
    Substitution,
    /// In `<( )` or `>( )`.
    ProcessSubstitution,
    /// In the body of a function.
    Function,
    /// In a condition or loop.
    Compound,
    /// In the command that another program runs, such as `timeout 5 …`.
    Wrapper,
}

/// One command with its arguments, or assignments alone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Simple {
    /// The program and its arguments; empty for assignments or redirections alone.
    pub words: Vec<Word>,
    /// The assignments before the program, by variable.
    pub assignments: Vec<(String, Word)>,
    /// The redirections; those of a group are on each of its commands.
    pub redirects: Vec<Redirect>,
    /// The command as it is written.
    pub text: String,
    /// What it stands in, outermost first.
    pub within: Vec<Within>,
    /// Whether the line itself defines a function of the program's name.
    pub redefined: bool,
}

/// A command line, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    /// Every command that a shell could run from it, in the order written.
    pub commands: Vec<Simple>,
}

/// Why a line cannot be taken apart.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why} (at byte {at})")]
pub struct Unparsed {
    /// What is wrong or not understood; part of a sentence.
    pub why: &'static str,
    /// Where, in bytes from the start.
    pub at: usize,
}

/// Why a line is refused that is longer than any that a person would read.
pub(crate) const TOO_LONG: &str = "the line is too long";
/// The same for one that is nested deeper.
pub(crate) const TOO_DEEP: &str = "it is too deeply nested";

impl Unparsed {
    /// Returns whether there is so much of it that nobody is asked about it.
    pub fn is_excess(&self) -> bool {
        self.why == TOO_LONG || self.why == TOO_DEEP
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Word::Known(text) | Word::Glob { text, .. } => f.write_str(text),
            Word::Unknown { raw } => f.write_str(raw),
        }
    }
}
