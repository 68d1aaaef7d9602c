//! How much a command may use.

use serde::{Deserialize, Serialize};

/// How much a command may use; `None` is no limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Milliseconds until the command is ended.
    pub wall_ms: Option<u64>,
    /// Seconds of processor time for one process.
    pub cpu_seconds: Option<u64>,
    /// Bytes of memory, all processes together.
    pub memory: Option<u64>,
    /// Processes and threads at a time.
    pub processes: Option<u64>,
    /// Open files of one process.
    pub open_files: Option<u64>,
    /// Bytes of the largest file.
    pub file_size: Option<u64>,
    /// Bytes that are printed before the command is ended.
    pub output: Option<u64>,
    /// Bytes in `/tmp`, the private home directory and `/dev/shm` together.
    pub tmp: Option<u64>,
}

impl Limits {
    /// Returns limits that limit nothing.
    pub fn none() -> Self {
        Limits {
            wall_ms: None,
            cpu_seconds: None,
            memory: None,
            processes: None,
            open_files: None,
            file_size: None,
            output: None,
            tmp: None,
        }
    }

    /// Returns the smaller limit of the two, each for itself.
    pub fn tightest(&self, other: &Self) -> Self {
        let least = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Limits {
            wall_ms: least(self.wall_ms, other.wall_ms),
            cpu_seconds: least(self.cpu_seconds, other.cpu_seconds),
            memory: least(self.memory, other.memory),
            processes: least(self.processes, other.processes),
            open_files: least(self.open_files, other.open_files),
            file_size: least(self.file_size, other.file_size),
            output: least(self.output, other.output),
            tmp: least(self.tmp, other.tmp),
        }
    }
}
