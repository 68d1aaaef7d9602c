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
}
