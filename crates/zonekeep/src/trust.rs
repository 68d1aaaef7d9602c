//! Project files that reach outside their own directory, and the user's word
//! for them.
//!
//! A cloned repository must not be able to hand out the user's files. What a
//! file opens elsewhere takes effect only after the user has seen it; that is
//! remembered for exactly this text at exactly this place, one by one: a flag that
//! withholds some of it does not take the rest away.

use std::collections::{BTreeSet, HashSet};
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::project::Project;
use crate::state::StateDir;

/// Something that a project file opens outside its own directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reach {
    /// What it opens, such as `read and write /srv/data as /data`.
    pub what: String,
    /// Where it says so.
    pub at: String,
}

/// The files that the user has said yes to.
#[derive(Debug)]
pub struct TrustStore {
    state: StateDir,
}

impl TrustStore {
    /// Returns the list in a state directory.
    pub fn new(state: &StateDir) -> Self {
        TrustStore { state: state.clone() }
    }

    /// Returns whether the user has said yes to this file opening this much.
    pub fn is_trusted(&self, project: &Project, reach: &BTreeSet<Reach>) -> bool {
        let held = self.held();
        self.is_text_trusted(project)
            && reach.iter().all(|reach| held.contains(&key(project, Some(reach))))
    }

    /// Returns whether the user has said yes to this file with exactly this text,
    /// whatever it opens.
    pub fn is_text_trusted(&self, project: &Project) -> bool {
        self.held().contains(&key(project, None))
    }

    /// Returns the keys in the list; none where another user could have written it.
    fn held(&self) -> HashSet<String> {
        let mut list = String::new();
        let file = self.state.open_own("trusted", OpenOptions::new().read(true));
        if file.and_then(|mut file| file.read_to_string(&mut list)).is_err() {
            return HashSet::new();
        }
        list.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
    }

    /// Remembers the user's yes.
    pub fn trust(&self, project: &Project, reach: &BTreeSet<Reach>) -> io::Result<()> {
        let held = self.held();
        let keys = std::iter::once(key(project, None))
            .chain(reach.iter().map(|reach| key(project, Some(reach))))
            .filter(|key| !held.contains(key));
        let shown = project.file.as_deref().unwrap_or(Path::new("-")).to_string_lossy();
        let shown = shown.replace('\n', " ");
        let lines: String = keys.map(|key| format!("{key} {shown}\n")).collect();
        if lines.is_empty() {
            return Ok(());
        }
        self.state.make("")?;
        let mut options = OpenOptions::new();
        let mut file =
            self.state.open_own("trusted", options.append(true).create(true).mode(0o600))?;
        file.write_all(lines.as_bytes())
    }
}

/// Returns the key of a file with its text, or of one thing that it opens.
fn key(project: &Project, reach: Option<&Reach>) -> String {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(project.file.as_deref().unwrap_or(Path::new("")).as_os_str().as_bytes());
    part(project.text.as_bytes());
    if let Some(reach) = reach {
        part(reach.what.as_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
