//! Tells keepers whether commands run, in this session and others.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use zonekeep_confine::activity::Activity;

use super::enclose::Trees;
use crate::state::StateDir;

/// How often keepers are asked to catch up before a command starts all the same.
const MAX_ROUNDS: usize = 3;

/// The file that all sessions of a user tell it by.
const FILE: &str = "running";

/// The commands of a session that run.
#[derive(Debug, Default)]
pub(crate) struct Busy {
    /// Made when it is first needed; `None` where it cannot be, and then nothing is
    /// ever taken for the user's own doing.
    activity: std::sync::OnceLock<Option<Activity>>,
    running: Mutex<u64>,
}

/// Says that a command runs. What drops it unreleased leaves the session busy for good:
/// then it is not known what the command has done.
#[derive(Debug)]
#[must_use]
pub(super) struct Runs(());

impl Busy {
    /// Returns what the keepers of this session are told by.
    pub(super) fn activity(&self, state: Option<&StateDir>) -> Option<&Activity> {
        let make = || {
            let state = state?;
            state.make("quarantine").ok()?;
            Activity::at(&state.path().join(FILE)).ok()
        };
        self.activity.get_or_init(make).as_ref()
    }

    /// Says that a command is about to run that can write these directories. What has
    /// changed until now is the user's, and taken in before.
    pub(super) fn begin(
        &self,
        state: Option<&StateDir>,
        trees: &Trees,
        writable: &[PathBuf],
    ) -> io::Result<Runs> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(activity) = self.activity(state) {
            for _ in 0..if *running == 0 { MAX_ROUNDS } else { 0 } {
                let behind = trees.with_news();
                if behind.is_empty() {
                    break;
                }
                for tree in behind {
                    // One that has ended has nothing to take in.
                    let _ = tree.tree.take_in();
                }
            }
            let begun = activity.begin(writable.iter().map(PathBuf::as_path));
            if *running == 0 && begun.is_err() {
                activity.end();
            }
            begun?;
        }
        *running += 1;
        Ok(Runs(()))
    }

    /// Says that a command has ended, and that what it left was settled.
    pub(super) fn end(&self, Runs(()): Runs) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        *running = running.saturating_sub(1);
        if let (0, Some(Some(activity))) = (*running, self.activity.get()) {
            activity.end();
        }
    }
}
