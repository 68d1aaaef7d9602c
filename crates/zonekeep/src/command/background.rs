//! Commands that go on while the agent does something else: explicit, listed,
//! and gone with the sandbox.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::Serialize;
use zonekeep_confine::child::{Output, Running};
use zonekeep_confine::tree::Failed;

use super::Outcome;
use crate::error::Error;

/// How long output waits before it can be seen.
const STEP: Duration = Duration::from_millis(50);

/// The most that run at a time.
const MAX_RUNNING: usize = 32;
/// Of how many that have ended the output is kept.
const MAX_KEPT: usize = 100;
/// How many that have ended are remembered.
const MAX_REMEMBERED: usize = 1_000;

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

/// A command that was started, and the thread that waits for it.
struct Started {
    shared: Arc<Mutex<Shared>>,
    /// `None` once it was joined.
    thread: Option<JoinHandle<()>>,
}

/// The commands by number.
#[derive(Default)]
struct Jobs {
    by_id: BTreeMap<u64, Started>,
    last: u64,
}

impl Jobs {
    /// Joins the threads of commands that have ended, and forgets what ended long ago: a server
    /// may start any number of commands, and each thread that is not joined keeps its stack.
    fn tidy(&mut self) {
        for started in self.by_id.values_mut() {
            if let Some(thread) = started.thread.take_if(|thread| thread.is_finished()) {
                let _ = thread.join();
            }
        }
        let has_ended = |started: &Started| lock(&started.shared).job.state != JobState::Running;
        let ended: Vec<u64> =
            self.by_id.iter().filter(|(_, job)| has_ended(job)).map(|(id, _)| *id).collect();
        let (gone, kept) = ended.split_at(ended.len().saturating_sub(MAX_REMEMBERED));
        for id in gone {
            self.by_id.remove(id);
        }
        for id in &kept[..kept.len().saturating_sub(MAX_KEPT)] {
            let Some(started) = self.by_id.get(id) else { continue };
            let job = &mut lock(&started.shared).job;
            if let JobState::Ended(outcome) = &mut job.state {
                (outcome.stdout, outcome.stderr) = (String::new(), String::new());
            }
            (job.stdout, job.stderr) = (String::new(), String::new());
        }
    }
}

/// The background commands of a sandbox.
#[derive(Default)]
pub struct Background {
    jobs: Mutex<Jobs>,
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
    /// Takes a command that was started; `finish` writes down how it ended. Without a thread
    /// to wait for it, the command is killed.
    pub(super) fn add(
        &self,
        line: String,
        running: Running,
        finish: impl FnOnce(Result<Output, Failed>) -> Result<Outcome, Error> + Send + 'static,
    ) -> Result<u64, Error> {
        let mut jobs = lock(&self.jobs);
        jobs.tidy();
        let id = jobs.last + 1;
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
        // The thread takes it from there; where there is none, it is taken back.
        let handed = Arc::new(Mutex::new(Some((running, finish))));
        let taken = Arc::clone(&handed);
        let thread = std::thread::Builder::new().name("zonekeep-job".to_owned()).spawn(move || {
            let Some((running, finish)) = lock(&taken).take() else { return };
            let state = match finish(follow(running, &seen)) {
                Ok(outcome) => JobState::Ended(Box::new(outcome)),
                Err(error) => JobState::Lost(error.to_string()),
            };
            lock(&seen).job.state = state;
        });
        match thread {
            Ok(thread) => {
                jobs.last = id;
                jobs.by_id.insert(id, Started { shared, thread: Some(thread) });
                Ok(id)
            }
            Err(source) => {
                drop(jobs);
                let Some((running, finish)) = lock(&handed).take() else {
                    unreachable!("no thread has taken it")
                };
                let _ = running.process().kill();
                // The command may have done something until then.
                finish(Err(Failed::from(source))).map(|_| id)
            }
        }
    }

    /// Returns whether no more may be started.
    pub(super) fn is_full(&self) -> bool {
        let jobs = lock(&self.jobs);
        let running = |started: &&Started| lock(&started.shared).job.state == JobState::Running;
        jobs.by_id.values().filter(running).count() >= MAX_RUNNING
    }

    /// Returns those that are remembered, the oldest first.
    pub fn list(&self) -> Vec<Job> {
        let jobs = lock(&self.jobs);
        jobs.by_id.values().map(|started| lock(&started.shared).job.clone()).collect()
    }

    /// Returns one of them, with what it has printed so far.
    pub fn get(&self, id: u64) -> Option<Job> {
        self.find(id).map(|shared| lock(&shared).job.clone())
    }

    fn find(&self, id: u64) -> Option<Arc<Mutex<Shared>>> {
        lock(&self.jobs).by_id.get(&id).map(|started| Arc::clone(&started.shared))
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
        let thread = lock(&self.jobs).by_id.get_mut(&id)?.thread.take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
        self.get(id)
    }
}

/// Waits for a command, and shows what it prints as it comes.
fn follow(mut running: Running, seen: &Mutex<Shared>) -> Result<Output, Failed> {
    loop {
        let pumped = running.pump(Some(STEP));
        let mut shared = lock(seen);
        for signal in shared.signals.drain(..) {
            let _ = running.process().signal(signal);
        }
        if std::mem::take(&mut shared.stop) {
            let _ = running.process().kill();
        }
        let (stdout, stderr) = running.printed();
        (shared.job.stdout, shared.job.stderr) = (stdout.text(), stderr.text());
        if pumped? {
            return running.output().ok_or(Failed::Gone);
        }
    }
}
