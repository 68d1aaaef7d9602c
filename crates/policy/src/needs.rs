//! What a worker file asks for.

use std::path::PathBuf;

use crate::limit::Limits;
use crate::path::AgentPath;
use crate::policy::{Network, OsSandbox, Shell, ToolRule};
use crate::source::{At, Ruled};
use crate::zone::{Approval, Mode};
use std::collections::BTreeMap;

/// A zone that a worker asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneNeed {
    /// The zone's name.
    pub name: String,
    /// The mode asked for; never more than the caller's.
    pub mode: Ruled<Mode>,
    /// Stricter consent for reading, if any.
    pub read: Option<Ruled<Approval>>,
    /// Stricter consent for writing, if any.
    pub write: Option<Ruled<Approval>>,
    /// Stricter consent for deleting, if any.
    pub delete: Option<Ruled<Approval>>,
    /// Fewer endings, if any (`paths` form).
    pub suffixes: Option<Ruled<Vec<String>>>,
    /// A smaller size, if any (`paths` form).
    pub max_file_bytes: Option<Ruled<u64>>,
    /// Where the worker says that the zone is not to be trusted, if it does.
    pub untrusted: Option<At>,
    /// The directory the worker believes the zone to be (`paths` form).
    pub path: Option<Ruled<PathBuf>>,
    /// Where the request is written.
    pub at: At,
}

/// The zones that a worker asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ZoneNeeds {
    /// None: the worker is a pure function.
    #[default]
    None,
    /// Everything the caller has (`zones: all`).
    All,
    /// These.
    Named(Vec<ZoneNeed>),
}

/// What a worker asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs {
    /// The worker's name.
    pub worker: String,
    /// The zones.
    pub zones: ZoneNeeds,
    /// Where its relative paths start.
    pub working_dir: Option<Ruled<AgentPath>>,
    /// The tools it wants, by canonical name; `None` is all.
    pub tools: Option<Ruled<Vec<String>>>,
    /// Stricter rules for single tools.
    pub tool_rules: BTreeMap<String, ToolRule>,
    /// Rules for commands.
    pub shell: Shell,
    /// What its commands may reach; `None` is nothing.
    pub network: Option<Ruled<Network>>,
    /// The secrets that its commands use, by name.
    pub secrets: Vec<Ruled<String>>,
    /// How much its commands may use, where that is less than the caller's.
    pub limits: Limits,
    /// Whether its commands may run where their boundaries are not fully enforced.
    /// Only [`OsSandbox::Required`] changes anything: a worker cannot loosen it.
    pub require_os_sandbox: Ruled<OsSandbox>,
}

impl Default for Needs {
    /// Returns the needs of a worker that asks for nothing.
    fn default() -> Self {
        Needs {
            worker: String::new(),
            zones: ZoneNeeds::None,
            working_dir: None,
            tools: None,
            tool_rules: BTreeMap::new(),
            shell: Shell::default(),
            network: None,
            secrets: Vec::new(),
            // Not the defaults: those are for the project, and would limit a
            // worker whose project has no limits.
            limits: Limits::none(),
            require_os_sandbox: Ruled::default(),
        }
    }
}
