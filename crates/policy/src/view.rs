//! The tree that an agent sees: one directory at the top for each zone it has.

use crate::path::{AgentPath, RelPath};
use crate::zone::{Mode, Zone};

/// A zone placed at `/name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The zone, with the mode, limits and consent that hold for this worker.
    pub zone: Zone,
}

impl Mount {
    /// Returns the path the agent sees.
    pub fn path(&self) -> AgentPath {
        AgentPath::of(&self.zone.name, &RelPath::root())
    }

    /// Returns whether names with this ending may be used.
    pub fn suffix_allowed(&self, name: &[u8]) -> bool {
        match &self.zone.suffixes {
            None => true,
            Some(suffixes) => has_suffix(name, &suffixes.value),
        }
    }
}

/// Returns whether `name` ends in one of `suffixes`, in any case of letters.
pub fn has_suffix(name: &[u8], suffixes: &[String]) -> bool {
    suffixes.iter().any(|suffix| {
        name.len() > suffix.len()
            && name[name.len() - suffix.len()..].eq_ignore_ascii_case(suffix.as_bytes())
    })
}

/// Where in the view a path lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spot {
    /// The root, which lists the mounts.
    Root,
    /// In a mount, at a path below it.
    In {
        /// The mount's number.
        mount: usize,
        /// The path below it.
        path: RelPath,
    },
}

/// All the mounts of one worker.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct View {
    mounts: Vec<Mount>,
    working_dir: AgentPath,
    home: AgentPath,
}

impl View {
    /// Returns a view of `mounts`; their names must differ.
    pub fn new(mounts: Vec<Mount>, working_dir: AgentPath, home: AgentPath) -> Self {
        View { mounts, working_dir, home }
    }

    /// Returns the mounts, in the order of the project file.
    pub fn mounts(&self) -> &[Mount] {
        &self.mounts
    }

    /// Returns where relative paths start.
    pub fn working_dir(&self) -> &AgentPath {
        &self.working_dir
    }

    /// Returns what `~` is.
    pub fn home(&self) -> &AgentPath {
        &self.home
    }

    /// Finds the mount of that name.
    pub fn mount(&self, name: &str) -> Option<&Mount> {
        self.mounts.iter().find(|mount| mount.zone.name == name)
    }

    /// Returns where `path` lies, or `None` when it is outside.
    pub fn locate(&self, path: &AgentPath) -> Option<Spot> {
        let Some((first, below)) = path.split_first() else { return Some(Spot::Root) };
        let mount = self.mounts.iter().position(|m| m.zone.name.as_bytes() == first)?;
        Some(Spot::In { mount, path: below })
    }

    /// Returns the agent path of a place in a mount.
    pub fn agent_path(&self, mount: usize, below: &RelPath) -> AgentPath {
        AgentPath::of(&self.mounts[mount].zone.name, below)
    }

    /// Returns the paths that can be read.
    pub fn readable(&self) -> Vec<String> {
        self.mounts.iter().map(|mount| mount.path().to_string()).collect()
    }

    /// Returns the paths that can be written.
    pub fn writable(&self) -> Vec<String> {
        let writable = self.mounts.iter().filter(|mount| mount.zone.mode.value == Mode::Rw);
        writable.map(|mount| mount.path().to_string()).collect()
    }
}
