//! Why an action was refused, in words for the agent that asked.
//!
//! The first line says what failed and why, the second what would work. Paths
//! are spelled as the agent spelled them; host paths, zones and the rule that
//! decided are for the operator, and go in the record.

use crate::grant::ExceedsParent;
use crate::path::PathError;

/// The most alternatives that a refusal names.
pub const MAX_ALTERNATIVES: usize = 8;
/// Why credentials are not shown, to follow "it is", and what would show them.
pub const HIDDEN: &str = "a well-known place of credentials, which is hidden.\n\
                          The user can list it in sandbox.allow_sensitive.";
/// The most characters of a path that a message repeats.
const MAX_SHOWN: usize = 300;

/// Why an action was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Denial {
    /// No directory of the agent's holds the path.
    #[error("Cannot access '{}': path is outside sandbox.\nReadable paths: {}", shown(.path), list(.readable))]
    Outside {
        /// The path as given.
        path: String,
        /// The directories that can be read.
        readable: Vec<String>,
        /// The zone it would be in, where the project has one of that name.
        zone: Option<String>,
    },
    /// The directory can only be read.
    #[error("Cannot {verb} '{}': path is read-only.\nWritable paths: {}", shown(.path), list(.writable))]
    ReadOnly {
        /// What was tried.
        verb: &'static str,
        /// The path as given.
        path: String,
        /// The directories that can be written.
        writable: Vec<String>,
        /// The zone.
        zone: String,
    },
    /// The name's ending is not one of those allowed.
    #[error("Cannot access '{}': suffix not allowed.\nAllowed suffixes: {}", shown(.path), list(.allowed))]
    Suffix {
        /// The path as given.
        path: String,
        /// The endings that may be used.
        allowed: Vec<String>,
    },
    /// The content is larger than a file may be.
    #[error("Cannot {verb} '{}': file too large ({size} bytes).\nMaximum allowed: {limit} bytes", shown(.path))]
    TooLarge {
        /// What was tried.
        verb: &'static str,
        /// The path as given.
        path: String,
        /// How large it would be.
        size: u64,
        /// How large it may be.
        limit: u64,
    },
    /// A rule blocks this, whoever is asked.
    #[error("Cannot {verb} '{}': this is blocked, and asking the user will not change it.\nAllowed in {dir}: {}", shown(.path), list(.allowed))]
    Blocked {
        /// What was tried.
        verb: &'static str,
        /// The path as given.
        path: String,
        /// The directory that the rule is for.
        dir: String,
        /// What the directory's rules leave open.
        allowed: Vec<String>,
    },
    /// The file could run code or grant rights later.
    #[error("Cannot {verb} '{}': the file is protected because it {why}.\nOther files can be changed; the user can change this one.", shown(.path))]
    Guarded {
        /// What was tried.
        verb: &'static str,
        /// The path as given.
        path: String,
        /// What makes it dangerous.
        why: String,
    },
    /// The path is hidden, because credentials are kept there.
    #[error("Cannot {verb} '{}': it is {}", shown(.path), HIDDEN)]
    Sensitive {
        /// What was tried.
        verb: &'static str,
        /// The path as given.
        path: String,
    },
    /// A top directory cannot be replaced or removed.
    #[error("Cannot {verb} '{}': it is a top-level directory.\nName a file in one of these: {}", shown(.path), list(.dirs))]
    TopDirectory {
        /// What was tried.
        verb: &'static str,
        /// The path as given.
        path: String,
        /// The directories where it could be done.
        dirs: Vec<String>,
    },
    /// The text is not a path.
    #[error("Cannot access '{}': {reason}.\nReadable paths: {}", shown(.path), list(.readable))]
    BadPath {
        /// The text as given.
        path: String,
        /// What is wrong with it.
        reason: PathError,
        /// The directories that can be read.
        readable: Vec<String>,
    },
    /// The tool does not exist for this agent.
    #[error("Cannot use '{}': the tool is not available.\nAvailable tools: {}", shown(.tool), list(.available))]
    NoTool {
        /// The tool.
        tool: String,
        /// Those that can be used.
        available: Vec<String>,
    },
    /// Somebody was asked and said no.
    #[error("Cannot {verb} '{}': the user declined.{}", shown(.path), note_line(.note))]
    Declined {
        /// What was tried.
        verb: &'static str,
        /// The path as given.
        path: String,
        /// What they said.
        note: Option<String>,
    },
    /// Somebody would have to be asked, and nobody can be.
    #[error("Cannot {verb} '{}': it needs the user's approval, and {reason}.\nContinue with what needs no approval, and tell the user what you wanted to do.", shown(.path))]
    Unasked {
        /// What was tried.
        verb: &'static str,
        /// The path as given.
        path: String,
        /// Why nobody was asked.
        reason: String,
    },
    /// A rule blocks the command, whoever is asked.
    #[error("Cannot run '{}': this command is not allowed, and asking the user will not change it.\n{}", shown(.line), runnable(.allowed))]
    CommandBlocked {
        /// The command as given.
        line: String,
        /// The beginnings of commands that run without a question.
        allowed: Vec<String>,
    },
    /// The text is no command that can be run here.
    #[error("Cannot run '{}': {reason}.\nWrite it in another way, or use a file tool.", shown(.line))]
    CommandUnfit {
        /// The command as given.
        line: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Somebody was asked about a command and said no.
    #[error("Cannot run '{}': the user declined.{}", shown(.line), note_line(.note))]
    CommandDeclined {
        /// The command as given.
        line: String,
        /// What they said.
        note: Option<String>,
    },
    /// Somebody would have to be asked about a command, and nobody can be.
    #[error("Cannot run '{}': it needs the user's approval, and {reason}.\nContinue with what needs no approval, and tell the user what you wanted to do.{}", shown(.line), effects_line(.effects))]
    CommandUnasked {
        /// The command as given.
        line: String,
        /// Why nobody was asked.
        reason: String,
        /// Effects of the command that need approval, where they are known.
        effects: Vec<String>,
    },
    /// The rules do not let a command connect there.
    #[error("Cannot connect to '{}': {reason}.\nAllowed hosts: {}", shown(.host), list(.allowed))]
    HostRefused {
        /// The host and the port.
        host: String,
        /// Those that can be reached.
        allowed: Vec<String>,
        /// Why not there.
        reason: String,
    },
    /// Somebody was asked about a connection and said no.
    #[error("Cannot connect to '{}': the user declined.{}", shown(.host), note_line(.note))]
    HostDeclined {
        /// The host and the port.
        host: String,
        /// What they said.
        note: Option<String>,
    },
    /// Somebody would have to be asked about a connection, and nobody can be.
    #[error("Cannot connect to '{}': it needs the user's approval, and {reason}.\nContinue with what needs no approval, and tell the user what you wanted to do.", shown(.host))]
    HostUnasked {
        /// The host and the port.
        host: String,
        /// Why nobody was asked.
        reason: String,
    },
    /// The worker is none of those that the caller may call.
    #[error("Cannot call '{}': this worker may not call it.\nWorkers: {}", shown(.worker), list(.available))]
    NoWorker {
        /// The worker.
        worker: String,
        /// Those that can be called.
        available: Vec<String>,
    },
    /// The worker is waiting for this very call.
    #[error("Cannot call '{}': it is already running ({}).\nDo the work here, or call another worker: {}", shown(.worker), arrows(.path), list(.available))]
    Cycle {
        /// The worker.
        worker: String,
        /// The workers from the first one down to the second time this one would run.
        path: Vec<String>,
        /// Those that can be called.
        available: Vec<String>,
    },
    /// Workers have called workers often enough.
    #[error("Cannot call '{}': workers may call each other at most {max} deep ({}).\nDo the work here, and return what is left to do.", shown(.worker), arrows(.path))]
    TooDeep {
        /// The worker.
        worker: String,
        /// The limit.
        max: u32,
        /// The workers from the first one down to this one.
        path: Vec<String>,
    },
    /// The worker's file asks for more than its caller holds.
    #[error("Cannot call '{}': it needs more than this worker has.\n{} Call another worker, or do the work here.", shown(.worker), .reason.for_agent())]
    Exceeds {
        /// The worker.
        worker: String,
        /// What it asks for.
        reason: ExceedsParent,
    },
    /// Somebody was asked about a call and said no.
    #[error("Cannot call '{}': the user declined.{}", shown(.worker), note_line(.note))]
    CallDeclined {
        /// The worker.
        worker: String,
        /// What they said.
        note: Option<String>,
    },
    /// Somebody would have to be asked about a call, and nobody can be.
    #[error("Cannot call '{}': it needs the user's approval, and {reason}.\nContinue with what needs no approval, and tell the user what you wanted to do.", shown(.worker))]
    CallUnasked {
        /// The worker.
        worker: String,
        /// Why nobody was asked.
        reason: String,
    },
}

impl Denial {
    /// Returns the stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Denial::Outside { .. } => "outside",
            Denial::ReadOnly { .. } => "read_only",
            Denial::Suffix { .. } => "suffix",
            Denial::TooLarge { .. } => "too_large",
            Denial::Blocked { .. } => "blocked",
            Denial::Guarded { .. } => "guarded",
            Denial::Sensitive { .. } => "sensitive",
            Denial::TopDirectory { .. } => "top_directory",
            Denial::BadPath { .. } => "bad_path",
            Denial::NoTool { .. } => "no_tool",
            Denial::Declined { .. } => "declined",
            Denial::Unasked { .. } => "declined",
            Denial::CommandBlocked { .. } => "blocked",
            Denial::CommandUnfit { .. } => "unfit",
            Denial::CommandDeclined { .. } | Denial::CommandUnasked { .. } => "declined",
            Denial::HostRefused { .. } => "host",
            Denial::HostDeclined { .. } | Denial::HostUnasked { .. } => "declined",
            Denial::NoWorker { .. } => "no_worker",
            Denial::Cycle { .. } => "cycle",
            Denial::TooDeep { .. } => "too_deep",
            Denial::Exceeds { .. } => "exceeds",
            Denial::CallDeclined { .. } | Denial::CallUnasked { .. } => "declined",
        }
    }

    /// Returns the path that was refused, as the agent gave it.
    pub fn path(&self) -> Option<&str> {
        match self {
            Denial::Outside { path, .. }
            | Denial::ReadOnly { path, .. }
            | Denial::Suffix { path, .. }
            | Denial::TooLarge { path, .. }
            | Denial::Blocked { path, .. }
            | Denial::Guarded { path, .. }
            | Denial::Sensitive { path, .. }
            | Denial::TopDirectory { path, .. }
            | Denial::BadPath { path, .. }
            | Denial::Declined { path, .. }
            | Denial::Unasked { path, .. } => Some(path),
            Denial::NoTool { .. }
            | Denial::CommandBlocked { .. }
            | Denial::CommandUnfit { .. }
            | Denial::CommandDeclined { .. }
            | Denial::CommandUnasked { .. }
            | Denial::HostRefused { .. }
            | Denial::HostDeclined { .. }
            | Denial::HostUnasked { .. }
            | Denial::NoWorker { .. }
            | Denial::Cycle { .. }
            | Denial::TooDeep { .. }
            | Denial::Exceeds { .. }
            | Denial::CallDeclined { .. }
            | Denial::CallUnasked { .. } => None,
        }
    }

    /// Returns the words for the operator, which may speak of zones.
    pub fn for_operator(&self) -> String {
        match self {
            Denial::Outside { zone: Some(zone), .. } => {
                format!("Zone '{zone}' not available to this worker")
            }
            Denial::ReadOnly { zone, .. } => format!("Zone '{zone}' is read-only for this worker"),
            Denial::Exceeds { reason, .. } => reason.to_string(),
            other => other.to_string().lines().next().unwrap_or_default().to_owned(),
        }
    }
}

/// Joins at most [`MAX_ALTERNATIVES`] names, sorted; "none" when there are none.
pub fn list(names: &[String]) -> String {
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    match names.len() {
        0 => "none".to_owned(),
        n if n <= MAX_ALTERNATIVES => names.join(", "),
        n => format!("{} and {} more", names[..MAX_ALTERNATIVES].join(", "), n - MAX_ALTERNATIVES),
    }
}

/// Joins the names of workers in the order in which they call each other.
fn arrows(path: &[String]) -> String {
    path.iter().map(|name| shown(name)).collect::<Vec<_>>().join(" → ")
}

/// Returns what can be run instead.
fn runnable(allowed: &[String]) -> String {
    match allowed.is_empty() {
        true => {
            "Use another command or a file tool, or tell the user what you wanted to do.".to_owned()
        }
        false => format!("Commands that need no approval: {}", list(allowed)),
    }
}

/// Returns a text of the agent's so that it can be shown on one line: cut when
/// it is long, with control and direction characters made visible.
pub fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(MAX_SHOWN) + 4);
    for (i, c) in text.chars().enumerate() {
        if i == MAX_SHOWN {
            out.push('…');
            break;
        }
        if c.is_control() || is_invisible(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Returns whether a character changes how its neighbours are shown, or shows
/// nothing itself: direction marks, joiners, tags, variation selectors.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

fn effects_line(effects: &[String]) -> String {
    match effects.is_empty() {
        true => String::new(),
        false => {
            let effects = effects.iter().map(|effect| shown(effect)).collect::<Vec<_>>();
            format!("\nApproval is needed because {}.", effects.join("; "))
        }
    }
}

fn note_line(note: &Option<String>) -> String {
    match note {
        Some(note) => format!("\nTheir note: {}", shown(note)),
        None => "\nDo not try this again unless the user asks for it.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn refusals_use_the_agreed_sentences() {
        let path = || "/etc/passwd".to_owned();
        let cases = [
            (
                Denial::Outside { path: path(), readable: names(&["/b", "/a"]), zone: None },
                "Cannot access '/etc/passwd': path is outside sandbox.\nReadable paths: /a, /b",
            ),
            (
                Denial::ReadOnly {
                    verb: "write to",
                    path: "/a/x".into(),
                    writable: vec![],
                    zone: "a".into(),
                },
                "Cannot write to '/a/x': path is read-only.\nWritable paths: none",
            ),
            (
                Denial::Suffix { path: "/a/x.exe".into(), allowed: names(&[".pdf", ".md"]) },
                "Cannot access '/a/x.exe': suffix not allowed.\nAllowed suffixes: .md, .pdf",
            ),
            (
                Denial::TooLarge { verb: "read", path: "/a/x".into(), size: 11, limit: 10 },
                "Cannot read '/a/x': file too large (11 bytes).\nMaximum allowed: 10 bytes",
            ),
            (
                Denial::Sensitive { verb: "read", path: "/a/.netrc".into() },
                "Cannot read '/a/.netrc': it is a well-known place of credentials, which is \
                 hidden.\nThe user can list it in sandbox.allow_sensitive.",
            ),
            (
                Denial::HostRefused {
                    host: "a\n.test:443".into(),
                    allowed: names(&["c.test", "b.test"]),
                    reason: "it is not an allowed host".into(),
                },
                "Cannot connect to 'a\\u{a}.test:443': it is not an allowed host.\nAllowed hosts: \
                 b.test, c.test",
            ),
            (
                Denial::HostDeclined { host: "a.test:22".into(), note: Some("use b".into()) },
                "Cannot connect to 'a.test:22': the user declined.\nTheir note: use b",
            ),
            (
                Denial::HostUnasked { host: "a.test:22".into(), reason: "nobody is here".into() },
                "Cannot connect to 'a.test:22': it needs the user's approval, and nobody is \
                 here.\nContinue with what needs no approval, and tell the user what you wanted \
                 to do.",
            ),
        ];
        for (denial, want) in cases {
            assert_eq!(denial.to_string(), want);
        }
    }

    #[test]
    fn lists_are_sorted_and_short() {
        assert_eq!(list(&[]), "none");
        let many: Vec<String> = (0..11).map(|i| format!("/{i:02}")).rev().collect();
        assert_eq!(list(&many), "/00, /01, /02, /03, /04, /05, /06, /07 and 3 more");
    }

    #[test]
    fn what_the_agent_wrote_cannot_disguise_itself() {
        assert_eq!(shown("a\nb\x1b[31m\u{202e}c"), "a\\u{a}b\\u{1b}[31m\\u{202e}c");
        assert_eq!(shown(&"x".repeat(400)).chars().count(), 301);
    }
}
