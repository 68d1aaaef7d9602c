//! Zones: the named directories of a project, with their modes, limits and
//! consent rules.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::path::{AgentPath, RelPath};
use crate::source::{At, Ruled};

/// What may happen in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Mode {
    /// Reading only.
    #[default]
    Ro,
    /// Reading and writing.
    Rw,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Ro => "ro",
            Mode::Rw => "rw",
        })
    }
}

/// Whether somebody has to be asked first. The order is the strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Approval {
    /// Goes ahead without a question.
    PreApproved,
    /// Goes ahead after a yes.
    Ask,
    /// Never happens, whatever anybody answers.
    Blocked,
}

impl fmt::Display for Approval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Approval::PreApproved => "preApproved",
            Approval::Ask => "ask",
            Approval::Blocked => "blocked",
        })
    }
}

/// The consent rules of a zone, one for each kind of access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approvals {
    /// Reading, listing and searching.
    pub read: Ruled<Approval>,
    /// Creating and changing files.
    pub write: Ruled<Approval>,
    /// Removing files.
    pub delete: Ruled<Approval>,
}

impl Default for Approvals {
    fn default() -> Self {
        Approvals {
            read: Ruled::default_of(Approval::PreApproved),
            write: Ruled::default_of(Approval::Ask),
            delete: Ruled::default_of(Approval::Ask),
        }
    }
}

/// The path at which the agent sees a zone (`zones.NAME.at`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Placement {
    /// `/NAME`, which tells nothing about the host.
    #[default]
    Named,
    /// The path that the directory has on the host.
    Same,
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Placement::Named => "name",
            Placement::Same => "same",
        })
    }
}

/// A named host directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone {
    /// The name; the agent sees `/name`, unless the zone is at its host path.
    pub name: String,
    /// The key in the project file that declares it, such as `sandbox.zones.input`.
    pub key: String,
    /// Where the zone is declared.
    pub at: At,
    /// The host directory, absolute but not yet looked at.
    pub path: Ruled<PathBuf>,
    /// The path at which the agent sees it.
    pub placement: Ruled<Placement>,
    /// Whether the directory is made on the first write when it is missing.
    pub create: bool,
    /// Reading only, or writing too.
    pub mode: Ruled<Mode>,
    /// Endings of file names that may be used, with their dot; `None` is all.
    pub suffixes: Option<Ruled<Vec<String>>>,
    /// The largest file that may be read or written.
    pub max_file_bytes: Option<Ruled<u64>>,
    /// Who is asked about what.
    pub approval: Approvals,
    /// Where it is said that what lies here is not to be trusted, if it is.
    pub untrusted: Option<At>,
}

impl Zone {
    /// Returns a zone without limits, with the consent rules of a silent file.
    pub fn new(name: impl Into<String>, path: impl Into<PathBuf>, mode: Mode, at: At) -> Self {
        let name = name.into();
        Zone {
            key: format!("sandbox.zones.{name}"),
            name,
            path: Ruled::new(path.into(), at.clone()),
            placement: Ruled::default(),
            create: false,
            mode: Ruled::new(mode, at.clone()),
            suffixes: None,
            max_file_bytes: None,
            approval: Approvals::default(),
            untrusted: None,
            at,
        }
    }

    /// Returns the path at which the agent sees the zone.
    pub fn agent_path(&self) -> AgentPath {
        let same = self.placement.value == Placement::Same;
        let own = same.then(|| AgentPath::of_host(&self.path.value)).flatten();
        own.unwrap_or_else(|| AgentPath::of(&self.name, &RelPath::root()))
    }

    /// Returns whether commands can write there: what never happens by file tools does
    /// not happen by commands.
    pub fn commands_write(&self) -> bool {
        let blocked = |approval: &Ruled<Approval>| approval.value == Approval::Blocked;
        let approval = &self.approval;
        self.mode.value == Mode::Rw && !blocked(&approval.read) && !blocked(&approval.write)
    }
}

/// Names that a zone cannot have, because a command needs them for the system.
pub const RESERVED_NAMES: &[&str] = &[
    "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "media", "mnt", "nix", "opt",
    "proc", "root", "run", "sbin", "srv", "sys", "tmp", "usr", "var",
];

/// Directories that hold the system inside, or that each sandbox makes for itself: no
/// zone is at its host path in one of them.
const SYSTEM_DIRS: &[&str] = &[
    "/bin", "/boot", "/dev", "/etc", "/gnu", "/lib", "/lib32", "/lib64", "/libx32", "/nix",
    "/proc", "/run", "/sbin", "/sys", "/usr",
];

/// Private directories of every sandbox, which a zone can be in but not take the place of.
const PRIVATE_DIRS: &[&str] = &["/tmp"];

/// Returns the directory of the sandbox that a zone at this host path would hide or be
/// hidden by.
pub fn system_overlap(path: &Path) -> Option<&'static str> {
    let system = SYSTEM_DIRS.iter().copied();
    let system = system.filter(|dir| path.starts_with(dir) || Path::new(dir).starts_with(path));
    let private = PRIVATE_DIRS.iter().copied().filter(|dir| Path::new(dir).starts_with(path));
    system.chain(private).next()
}

/// Why a text cannot be a zone's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// It has other characters than letters, digits, `-`, `_` and `.`.
    #[error(
        "a zone name has letters, digits, '-', '_' and '.', starts with a letter or digit and is at most 64 long"
    )]
    Malformed,
    /// The system needs the name.
    #[error("the name '{0}' is taken by the system directories that commands see")]
    Reserved(String),
}

/// Checks a zone's name.
pub fn check_name(name: &str) -> Result<(), NameError> {
    let well_formed = name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if !well_formed {
        Err(NameError::Malformed)
    } else if RESERVED_NAMES.contains(&name) {
        Err(NameError::Reserved(name.to_owned()))
    } else {
        Ok(())
    }
}
