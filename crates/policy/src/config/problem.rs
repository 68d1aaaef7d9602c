//! What is wrong or doubtful in a file, with the place, the reason and a hint.

use std::fmt;
use std::sync::Arc;

use crate::source::At;

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file can be used, and somebody should look at the line.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        })
    }
}

/// One thing wrong or doubtful in a file or a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// A stable name for the kind of problem, such as `unknown_key`.
    pub code: &'static str,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// The file's name as it should be shown, or the flag as it was written.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// How many characters to underline; at least 1.
    pub width: u32,
    /// What to write instead.
    pub hint: Option<String>,
}

impl Problem {
    /// Adds what to write instead.
    pub(crate) fn hint(&mut self, hint: impl Into<String>) {
        self.hint = Some(hint.into());
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { severity, message, file, line, column, .. } = self;
        write!(f, "{file}:{line}:{column}: {severity}: {message}")?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

/// The text that a value was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// A file, by the name to show.
    File(Arc<str>),
    /// A flag, as written.
    Flag(Arc<str>),
    /// No text: it is what holds when the file is silent.
    Default,
}

/// A stretch of one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) source: Source,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) width: u32,
}

impl Mark {
    /// Returns the start of `source`.
    pub(crate) fn start(source: Source) -> Mark {
        Mark { source, line: 1, column: 1, width: 1 }
    }

    /// Returns the place that a rule remembers.
    pub(crate) fn of(at: &At, width: usize) -> Mark {
        let (source, line, column) = match at {
            At::File { file, line, column } => (Source::File(file.clone()), *line, *column),
            At::Flag(text) => (Source::Flag(text.clone()), 1, 1),
            At::Default => (Source::Default, 1, 1),
        };
        Mark { source, line, column, width: u32::try_from(width).unwrap_or(1).max(1) }
    }

    /// Returns the place as rules remember it.
    pub(crate) fn at(&self) -> At {
        match &self.source {
            Source::File(file) => {
                At::File { file: file.clone(), line: self.line, column: self.column }
            }
            Source::Flag(text) => At::Flag(text.clone()),
            Source::Default => At::Default,
        }
    }

    /// Returns whether the place is in a flag.
    pub(crate) fn is_flag(&self) -> bool {
        matches!(self.source, Source::Flag(_))
    }
}

/// The problems found so far.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<Problem>);

impl Problems {
    /// Adds an error.
    pub(crate) fn error(
        &mut self,
        code: &'static str,
        mark: &Mark,
        message: impl Into<String>,
    ) -> &mut Problem {
        self.push(Severity::Error, code, mark, message.into())
    }

    /// Adds a warning.
    pub(crate) fn warning(
        &mut self,
        code: &'static str,
        mark: &Mark,
        message: impl Into<String>,
    ) -> &mut Problem {
        self.push(Severity::Warning, code, mark, message.into())
    }

    fn push(
        &mut self,
        severity: Severity,
        code: &'static str,
        mark: &Mark,
        message: String,
    ) -> &mut Problem {
        let file = match &mark.source {
            Source::File(file) | Source::Flag(file) => file.clone(),
            Source::Default => "the defaults".into(),
        };
        self.0.push_mut(Problem {
            severity,
            code,
            message,
            file,
            line: mark.line,
            column: mark.column,
            width: mark.width.max(1),
            hint: None,
        })
    }

    /// Returns whether there is an error among them.
    pub(crate) fn any_error(&self) -> bool {
        self.0.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// Returns the problems, those of `file` first, in the order of its lines.
    pub(crate) fn sorted(mut self, file: &str) -> Vec<Problem> {
        self.0.sort_by_key(|problem| (&*problem.file != file, problem.line, problem.column));
        self.0
    }
}
