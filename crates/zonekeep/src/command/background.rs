//! Commands that go on while the agent does something else: explicit, listed,
//! and gone with the sandbox.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::Serialize;
use zonekeep_confine::child::Running;

use super::Outcome;
use crate::error::Error;

/// How long output waits before it can be seen.
const STEP: Duration = Duration::from_millis(50);

/// The most that run at a time.
const MAX_RUNNING: usize = 32;
/// Of how many the output is kept.
const MAX_KEPT: usize = 100;

/// Where a background command stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum JobState {
    /// It runs.
    Running,
    /// It has ended.
    Ended(Box<Outcome>),
    /// It was lost with its sandbox.
    Lost(String),
}

/// A background command as a list shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Job {
    /// Its number.
    pub id: u64,
    /// Its command line.
    pub line: String,
    /// What it has printed so far; the beginning and the end of a long text.
    pub stdout: String,
    /// What it has said beside that.
    pub stderr: String,
    /// Where it stands.
    pub state: JobState,
}

/// What a background command and those who look at it share.
struct Shared {
    job: Job,
    signals: Vec<i32>,
    stop: bool,
}

/// A command that was started, and the thread that stays with it.
type Started = (Arc<Mutex<Shared>>, Option<JoinHandle<()>>);

/// The background commands of a sandbox.
#[derive(Default)]
pub struct Background {
    jobs: Mutex<Vec<Started>>,
    closed: AtomicBool,
}

impl std::fmt::Debug for Background {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Background").finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Background {
    /// Takes a command that was started; `finish` writes down how it ended.
    pub(super) fn add(
        &self,
        line: String,
        mut running: Running,
        finish: impl FnOnce(Result<zonekeep_confine::child::Output, Error>) -> Result<Outcome, Error>
        + Send
        + 'static,
    ) -> u64 {
        let mut jobs = lock(&self.jobs);
        let id = jobs.len() as u64 + 1;
        let job = Job {
            id,
            line,
            stdout: String::new(),
            stderr: String::new(),
            state: JobState::Running,
        };
        let stop = self.closed.load(Ordering::SeqCst);
        let shared = Arc::new(Mutex::new(Shared { job, signals: Vec::new(), stop }));
        let seen = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let ended = loop {
                let pumped = running.pump(Some(STEP));
                let mut shared = lock(&seen);
                for signal in shared.signals.drain(..) {
                    let _ = running.process().signal(signal);
                }
                if std::mem::take(&mut shared.stop) {
                    let _ = running.process().kill();
                }
                let (stdout, stderr) = running.printed();
                (shared.job.stdout, shared.job.stderr) = (stdout.text(), stderr.text());
                match pumped {
                    Ok(false) => {}
                    Ok(true) => break running.output().ok_or(zonekeep_confine::tree::Failed::Gone),
                    Err(failed) => break Err(failed),
                }
            };
            let state = match finish(ended.map_err(|failed| Error::unconfined("run", &failed))) {
                Ok(outcome) => JobState::Ended(Box::new(outcome)),
                Err(error) => JobState::Lost(error.to_string()),
            };
            lock(&seen).job.state = state;
        });
        jobs.push((shared, Some(thread)));
        // What ended long ago is only remembered by how it ended.
        if let Some(old) = jobs.len().checked_sub(MAX_KEPT + 1) {
            let job = &mut lock(&jobs[old].0).job;
            if let JobState::Ended(outcome) = &mut job.state {
                (outcome.stdout, outcome.stderr) = (String::new(), String::new());
                (job.stdout, job.stderr) = (String::new(), String::new());
            }
        }
        id
    }

    /// Returns whether no more may be started.
    pub(super) fn is_full(&self) -> bool {
        let jobs = lock(&self.jobs);
        let running = |(shared, _): &&Started| lock(shared).job.state == JobState::Running;
        jobs.iter().filter(running).count() >= MAX_RUNNING
    }

    /// Returns all of them, the oldest first.
    pub fn list(&self) -> Vec<Job> {
        lock(&self.jobs).iter().map(|(shared, _)| lock(shared).job.clone()).collect()
    }

    /// Returns one of them, with what it has printed so far.
    pub fn get(&self, id: u64) -> Option<Job> {
        self.find(id).map(|shared| lock(&shared).job.clone())
    }

    fn find(&self, id: u64) -> Option<Arc<Mutex<Shared>>> {
        let index = usize::try_from(id.checked_sub(1)?).ok()?;
        lock(&self.jobs).get(index).map(|(shared, _)| Arc::clone(shared))
    }

    /// Sends a signal to one of them; returns whether there is one of that number
    /// that runs.
    pub fn signal(&self, id: u64, signal: i32) -> bool {
        self.running(id, |shared| shared.signals.push(signal))
    }

    /// Ends one of them with all its processes; returns whether there is one of
    /// that number that runs.
    pub fn stop(&self, id: u64) -> bool {
        self.running(id, |shared| shared.stop = true)
    }

    fn running(&self, id: u64, change: impl FnOnce(&mut Shared)) -> bool {
        let Some(shared) = self.find(id) else { return false };
        let mut shared = lock(&shared);
        let runs = shared.job.state == JobState::Running;
        if runs {
            change(&mut shared);
        }
        runs
    }

    /// Ends all of them, and waits until they have.
    pub fn stop_all(&self) {
        let ids: Vec<u64> = self.list().iter().map(|job| job.id).collect();
        for id in &ids {
            self.stop(*id);
        }
        for id in ids {
            self.wait(id);
        }
    }

    /// Ends all of them, and waits until they have. One that is started later ends
    /// at once.
    pub fn close(&self) {
        {
            let _jobs = lock(&self.jobs);
            self.closed.store(true, Ordering::SeqCst);
        }
        self.stop_all();
    }

    /// Waits until one of them has ended; returns what it came to.
    pub fn wait(&self, id: u64) -> Option<Job> {
        let index = usize::try_from(id.checked_sub(1)?).ok()?;
        let thread = lock(&self.jobs).get_mut(index)?.1.take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
        self.get(id)
    }
}
