//! Project files that reach outside their own directory, and the user's word
//! for them.
//!
//! A cloned repository must not be able to hand out the user's files. What a
//! file opens elsewhere takes effect only after the user has seen it; that is
//! remembered for exactly this text at exactly this place, opening exactly that.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
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
        match fs::read_to_string(self.state.path().join("trusted")) {
            Ok(list) => {
                let key = key(project, reach);
                list.lines().any(|line| line.split(' ').next() == Some(&key))
            }
            Err(_) => false,
        }
    }

    /// Remembers the user's yes.
    pub fn trust(&self, project: &Project, reach: &BTreeSet<Reach>) -> io::Result<()> {
        if self.is_trusted(project, reach) {
            return Ok(());
        }
        self.state.make("")?;
        let path = self.state.path().join("trusted");
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        let shown = project.file.as_deref().unwrap_or(Path::new("-")).to_string_lossy();
        let line = format!("{} {}\n", key(project, reach), shown.replace('\n', " "));
        file.write_all(line.as_bytes())
    }
}

fn key(project: &Project, reach: &BTreeSet<Reach>) -> String {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(project.file.as_deref().unwrap_or(Path::new("")).as_os_str().as_bytes());
    part(project.text.as_bytes());
    for reach in reach {
        part(reach.what.as_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
