//! Things about to happen.

use std::fmt;

use crate::path::{AgentPath, PathError};
use crate::view::View;

/// What is done to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Content is read.
    Read,
    /// The names in a directory are read.
    List,
    /// The names below a directory are matched against a pattern.
    Find,
    /// The contents of the files below a directory are looked through.
    Search,
    /// Kind, size and time of an entry are read.
    Info,
    /// A file is created, replaced or appended to.
    Write,
    /// Part of a file is replaced.
    Edit,
    /// A file or an empty directory is removed.
    Delete,
    /// An entry gets another name.
    Move,
    /// A file is read and written elsewhere.
    Copy,
}

impl Verb {
    /// Returns whether the world is different afterwards.
    pub fn changes(self) -> bool {
        !matches!(self, Verb::Read | Verb::List | Verb::Find | Verb::Search | Verb::Info)
    }

    /// Returns the name used in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Verb::Read => "read",
            Verb::List => "list",
            Verb::Find => "find",
            Verb::Search => "search",
            Verb::Info => "info",
            Verb::Write => "write",
            Verb::Edit => "edit",
            Verb::Delete => "delete",
            Verb::Move => "move",
            Verb::Copy => "copy",
        }
    }

    /// Returns the verb that a name in a record means.
    pub fn parse(name: &str) -> Option<Self> {
        use Verb::{Copy, Delete, Edit, Find, Info, List, Move, Read, Search, Write};
        let all = [Read, List, Find, Search, Info, Write, Edit, Delete, Move, Copy];
        all.into_iter().find(|verb| verb.as_str() == name)
    }

    /// Returns the words that follow "Cannot" in a refusal.
    pub fn phrase(self) -> &'static str {
        match self {
            Verb::Read | Verb::Info => "read",
            Verb::List | Verb::Find => "list",
            Verb::Search => "search",
            Verb::Write | Verb::Edit => "write to",
            Verb::Delete => "delete",
            Verb::Move => "move",
            Verb::Copy => "copy",
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A path as it was given and as it was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The agent's own spelling, for messages.
    pub given: String,
    /// The normalised path, for everything else.
    pub path: AgentPath,
    /// Whether there is a private `/tmp` of commands to look into.
    pub has_tmp: bool,
}

impl Target {
    /// Reads a path in a view.
    pub fn parse(given: &str, view: &View) -> Result<Self, PathError> {
        Ok(Target { given: given.to_owned(), path: view.parse(given)?, has_tmp: false })
    }

    /// Returns a target for a path that is already normalised.
    pub fn of(path: AgentPath) -> Self {
        Target { given: path.to_string(), path, has_tmp: false }
    }

    /// Returns the target where there is a private `/tmp` of commands, or none.
    #[must_use]
    pub fn with_tmp(self, has_tmp: bool) -> Self {
        Target { has_tmp, ..self }
    }
}

/// One thing about to happen to files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// The tool that was called, by canonical name.
    pub tool: &'static str,
    /// What is done.
    pub verb: Verb,
    /// What it is done to.
    pub target: Target,
    /// The new place, for a move or a copy.
    pub to: Option<Target>,
    /// How large the written content is, where that is known beforehand.
    pub bytes: Option<u64>,
}

impl Action {
    /// Returns an action on one path.
    pub fn new(tool: &'static str, verb: Verb, target: Target) -> Self {
        Action { tool, verb, target, to: None, bytes: None }
    }

    /// Returns the action with a second path.
    pub fn to(mut self, to: Target) -> Self {
        self.to = Some(to);
        self
    }

    /// Returns the action with the size of what it writes.
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.bytes = Some(bytes);
        self
    }
}
