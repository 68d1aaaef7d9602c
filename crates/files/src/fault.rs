//! Why file work failed, in words for the agent that asked.

use std::io;

use rustix::io::Errno;
use zonekeep_policy::denial::HIDDEN;
use zonekeep_policy::path::RelPath;

use crate::edit::EditFault;

/// Why an operation failed.
///
/// The text is the reason that follows `Cannot read '/input/a.txt': `. A second
/// line, where there is one, says what would work. Host paths and the names of
/// system errors stay out; the cause is kept as the `source`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Nothing has that name, or a directory on the way is missing.
    #[error("no such file.{}", similar_line(.similar))]
    NotFound {
        /// Names in the same directory that come close, at most 8.
        similar: Vec<String>,
    },
    /// A file was wanted, and this is a directory.
    #[error("it is a directory.")]
    IsDirectory,
    /// A directory was wanted, here or on the way, and this is something else.
    #[error("it is not a directory.")]
    NotADirectory,
    /// The last name is a link, which is not followed.
    #[error("it is a symbolic link, and links are not followed here.{}", target_line(.target))]
    Link {
        /// Where it leads, if that is inside the store.
        target: Option<RelPath>,
    },
    /// A link on the way leads out of the directory.
    #[error("a link on the way leads outside the directory.")]
    Outside,
    /// A pipe, socket or device.
    #[error("it is a pipe, socket or device, not a file.")]
    Special,
    /// The content is not text.
    #[error("the content is binary ({mime}, {size} bytes), not text.")]
    Binary {
        /// What the first bytes look like.
        mime: &'static str,
        /// The size of the file.
        size: u64,
    },
    /// The file is, or would be, larger than allowed.
    #[error("file too large ({size} bytes).\nMaximum allowed: {limit} bytes")]
    TooLarge {
        /// The size it has or would have.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// The name's ending is not one of those allowed.
    #[error("suffix not allowed.\nAllowed suffixes: {}", .allowed.join(", "))]
    Suffix {
        /// The endings that may be used.
        allowed: Vec<String>,
    },
    /// The page starts after the last line.
    #[error("the file has only {total_lines} lines.\nThe first line is number 1")]
    PastEnd {
        /// How many lines there are.
        total_lines: u64,
    },
    /// The content is not the one the caller last saw.
    #[error("the file has changed since it was read.\nRead it again before changing it")]
    Stale {
        /// The hash of the content now; none if the file is gone.
        current: Option<String>,
    },
    /// Something else is there than what the user said yes to.
    #[error(
        "{what} changed while the question was open.\nThe approval was for what it was before: \
         call again to ask about what it is now"
    )]
    Changed {
        /// The file, the directory or the destination.
        what: &'static str,
    },
    /// The edits do not fit the text.
    #[error(transparent)]
    Edit(#[from] EditFault),
    /// Something is there already.
    #[error("it exists already.")]
    Exists,
    /// The directory to remove has entries.
    #[error("the directory is not empty.\nRemove what is in it first")]
    NotEmpty,
    /// The directory has more entries than a question can be put about.
    #[error("the directory has more than {limit} entries.\nMove what is in it one by one")]
    TooMany {
        /// The most entries.
        limit: usize,
    },
    /// Links lead to a file that needs consent of its own.
    #[error("links on the way lead to a guarded file.\nUse the file's own path")]
    Guarded,
    /// A directory holds files that need consent of their own.
    #[error("it holds a guarded file, {path}.\nMove the other files one by one")]
    HoldsGuarded {
        /// The file, below the directory.
        path: RelPath,
    },
    /// It is hidden, because credentials are kept there.
    #[error("it is {HIDDEN}")]
    Sensitive,
    /// A directory could hold credentials, which another name would show.
    #[error(
        "directories of this name can hold credentials, which are hidden.\nMove the files in it \
         one by one"
    )]
    HoldsSensitive,
    /// The system does not let this user at it.
    #[error("the file's permissions do not allow it.")]
    Unreadable {
        /// What the system said.
        source: io::Error,
    },
    /// The file system is mounted read-only.
    #[error("path is read-only.")]
    ReadOnly,
    /// No space is left, or a quota is used up.
    #[error("no space is left.\nNothing was changed")]
    Full {
        /// What the system said.
        source: io::Error,
    },
    /// The directory behind the handle was removed.
    #[error("the directory is no longer there.")]
    Gone,
    /// Links lead in a circle.
    #[error("there are too many links on the way.")]
    Loop,
    /// A name, or the whole path, is longer than the file system takes.
    #[error("the name is too long.")]
    NameTooLong,
    /// The pattern cannot be used.
    #[error("{0}")]
    BadPattern(PatternFault),
    /// Somebody else held the file or directory for too long.
    #[error("it is in use by somebody else.\nTry again")]
    Busy,
    /// A directory would be put into itself.
    #[error("a directory cannot be moved into itself.")]
    IntoItself,
    /// A directory would be moved to a different top directory.
    #[error("only files can be moved there.\nMove the files in it one by one")]
    TreeAcross,
    /// The file's encoding has no such character.
    #[error("the file's encoding ({encoding}) has no character '{character}'.")]
    Unencodable {
        /// The character.
        character: char,
        /// The encoding's name.
        encoding: &'static str,
    },
    /// Anything else.
    #[error("the file system failed.")]
    Io {
        /// What the system said.
        source: io::Error,
    },
}

/// What is wrong with a pattern.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PatternFault {
    /// It is empty.
    #[error("the pattern is empty.")]
    Empty,
    /// It is longer than any path.
    #[error("the pattern is too long.")]
    TooLong,
    /// It starts with a slash.
    #[error(
        "the pattern starts with '/'.\nPatterns are relative to the directory that is searched"
    )]
    Absolute,
    /// It has a `..` in it.
    #[error("the pattern contains '..'.\nPatterns are relative to the directory that is searched")]
    Parent,
    /// It is not a glob.
    #[error("the pattern is not valid: {0}.")]
    Glob(#[source] globset::Error),
    /// It is not a regular expression.
    #[error(
        "the pattern is not a valid regular expression: {0}.\nTo search for the text itself, search literally"
    )]
    Regex(#[source] grep_regex::Error),
}

impl Fault {
    /// Returns the plain "no such file".
    pub(crate) fn not_found() -> Self {
        Fault::NotFound { similar: Vec::new() }
    }

    /// Returns a short, stable word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Fault::NotFound { .. } => "not_found",
            Fault::IsDirectory => "is_directory",
            Fault::NotADirectory => "not_a_directory",
            Fault::Link { .. } => "link",
            Fault::Outside => "outside",
            Fault::Special => "special",
            Fault::Binary { .. } => "binary",
            Fault::TooLarge { .. } | Fault::Edit(EditFault::TooLarge { .. }) => "too_large",
            Fault::Suffix { .. } => "suffix",
            Fault::PastEnd { .. } => "past_end",
            Fault::Stale { .. } => "stale",
            Fault::Changed { .. } => "changed",
            Fault::TooMany { .. } => "too_many",
            Fault::Edit(EditFault::NoMatch { .. }) => "no_match",
            Fault::Edit(EditFault::Ambiguous { .. }) => "ambiguous",
            Fault::Edit(_) | Fault::Unencodable { .. } => "bad_edit",
            Fault::Exists => "exists",
            Fault::NotEmpty => "not_empty",
            Fault::Guarded | Fault::HoldsGuarded { .. } => "guarded",
            Fault::Sensitive | Fault::HoldsSensitive => "sensitive",
            Fault::Unreadable { .. } => "unreadable",
            Fault::ReadOnly => "read_only",
            Fault::Full { .. } => "full",
            Fault::Gone => "gone",
            Fault::Loop => "loop",
            Fault::NameTooLong => "name_too_long",
            Fault::BadPattern(_) => "bad_pattern",
            Fault::Busy => "busy",
            Fault::IntoItself => "into_itself",
            Fault::TreeAcross => "is_directory",
            Fault::Io { .. } => "io",
        }
    }
}

impl From<Errno> for Fault {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Fault::not_found(),
            Errno::ISDIR => Fault::IsDirectory,
            Errno::NOTDIR => Fault::NotADirectory,
            Errno::LOOP => Fault::Loop,
            Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP => Fault::Special,
            Errno::EXIST => Fault::Exists,
            Errno::NOTEMPTY => Fault::NotEmpty,
            Errno::ACCESS | Errno::PERM => Fault::Unreadable { source: errno.into() },
            Errno::ROFS => Fault::ReadOnly,
            Errno::NOSPC | Errno::DQUOT | Errno::FBIG => Fault::Full { source: errno.into() },
            Errno::STALE => Fault::Gone,
            Errno::NAMETOOLONG => Fault::NameTooLong,
            Errno::BUSY | Errno::TXTBSY | Errno::AGAIN => Fault::Busy,
            other => Fault::Io { source: other.into() },
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(errno) => errno.into(),
            None => Fault::Io { source: error },
        }
    }
}

fn similar_line(similar: &[String]) -> String {
    match similar {
        [] => String::new(),
        names => format!("\nSimilar names: {}", names.join(", ")),
    }
}

fn target_line(target: &Option<RelPath>) -> String {
    match target {
        Some(path) if !path.is_root() => format!("\nIt leads to: {path}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_start_small_and_end_with_a_full_stop() {
        let faults = [
            Fault::not_found(),
            Fault::NotFound { similar: vec!["a".into(), "b".into()] },
            Fault::IsDirectory,
            Fault::NotADirectory,
            Fault::Link { target: None },
            Fault::Outside,
            Fault::Special,
            Fault::Binary { mime: "application/pdf", size: 3 },
            Fault::TooLarge { size: 2, limit: 1 },
            Fault::PastEnd { total_lines: 3 },
            Fault::Stale { current: None },
            Fault::Changed { what: "the file" },
            Fault::TooMany { limit: 1 },
            Fault::Exists,
            Fault::NotEmpty,
            Fault::Guarded,
            Fault::Sensitive,
            Fault::HoldsSensitive,
            Fault::from(Errno::ACCESS),
            Fault::ReadOnly,
            Fault::from(Errno::NOSPC),
            Fault::Gone,
            Fault::Loop,
            Fault::NameTooLong,
            Fault::BadPattern(PatternFault::Absolute),
            Fault::Busy,
            Fault::IntoItself,
            Fault::TreeAcross,
            Fault::from(Errno::IO),
        ];
        for fault in faults {
            let text = fault.to_string();
            let reason = text.lines().next().unwrap();
            assert!(reason.starts_with(|c: char| c.is_lowercase()), "{text}");
            assert!(reason.ends_with('.'), "{text}");
            for word in ["zone", "errno", "os error", "Permission denied"] {
                assert!(!text.contains(word), "{text}");
            }
        }
    }

    #[test]
    fn the_sentences_that_programs_know_are_exact() {
        assert_eq!(
            Fault::TooLarge { size: 11, limit: 10 }.to_string(),
            "file too large (11 bytes).\nMaximum allowed: 10 bytes"
        );
        assert_eq!(
            Fault::NotFound { similar: vec!["a.txt".into(), "b.txt".into()] }.to_string(),
            "no such file.\nSimilar names: a.txt, b.txt"
        );
    }
}
