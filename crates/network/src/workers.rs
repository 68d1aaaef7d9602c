//! Threads for what blocks: looking names up, and asking people.
//!
//! They are made before anything can use them up: a command inside that makes
//! processes until there are no more must not stop, or end, the program outside.

use std::collections::VecDeque;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use tokio::sync::oneshot;

/// Threads that are there from the start.
const FIRST: usize = 2;

type Job = Box<dyn FnOnce() + Send>;

/// A few threads, and the work that waits for them.
#[derive(Debug, Clone)]
pub(crate) struct Workers(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    most: usize,
    state: Mutex<State>,
    ready: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    closed: bool,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} threads, {} idle, {} jobs", self.threads, self.idle, self.jobs.len())
    }
}

impl Workers {
    /// Starts the first threads; there will be `most` where they are needed.
    pub(crate) fn start(most: usize) -> io::Result<Workers> {
        let (state, ready) = (Mutex::default(), Condvar::new());
        let workers = Workers(Arc::new(Inner { most, state, ready }));
        for _ in 0..FIRST.min(most) {
            let mut state = workers.0.lock();
            if let Err(error) = workers.0.spawn(&mut state) {
                drop(state);
                workers.close();
                return Err(error);
            }
        }
        Ok(workers)
    }

    /// Does a piece of work on one of the threads, as soon as one is free; `None`
    /// where they have been told to end.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (done, result) = oneshot::channel();
        let job: Job = Box::new(move || drop(done.send(work())));
        {
            let mut state = self.0.lock();
            if state.closed {
                return None;
            }
            state.jobs.push_back(job);
            // Where no more threads are to be had, those that are there do it.
            if state.jobs.len() > state.idle && state.threads < self.0.most {
                let _ = self.0.spawn(&mut state);
            }
        }
        self.0.ready.notify_one();
        result.await.ok()
    }

    /// Lets the threads end: at once, or when they are done with what they do.
    pub(crate) fn close(&self) {
        let mut state = self.0.lock();
        state.closed = true;
        state.jobs.clear();
        drop(state);
        self.0.ready.notify_all();
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spawn(self: &Arc<Inner>, state: &mut State) -> io::Result<()> {
        let inner = Arc::clone(self);
        let builder = thread::Builder::new().name("zonekeep-worker".to_owned());
        builder.spawn(move || inner.work())?;
        state.threads += 1;
        Ok(())
    }

    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                // Who waits for it hears that there is no result.
                let _ = panic::catch_unwind(AssertUnwindSafe(job));
                state = self.lock();
            } else if state.closed {
                return;
            } else {
                state.idle += 1;
                state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[tokio::test]
    async fn work_is_done_side_by_side_and_more_waits() {
        let workers = Workers::start(4).unwrap();
        let barrier = Arc::new(Barrier::new(4));
        let jobs: Vec<_> = (0..9)
            .map(|n| {
                let (workers, barrier) = (workers.clone(), barrier.clone());
                tokio::spawn(async move {
                    workers
                        .run(move || {
                            if n < 4 {
                                barrier.wait(); // all four have a thread
                            }
                            n * 2
                        })
                        .await
                })
            })
            .collect();
        for (n, job) in jobs.into_iter().enumerate() {
            assert_eq!(job.await.unwrap(), Some(n * 2));
        }
        assert!(workers.0.lock().threads <= 4);
    }

    #[tokio::test]
    async fn a_panic_is_no_result_and_no_loss() {
        let workers = Workers::start(1).unwrap();
        for _ in 0..3 {
            assert_eq!(workers.run(|| -> u8 { panic!("on purpose") }).await, None);
            assert_eq!(workers.run(|| 1).await, Some(1));
        }
    }

    #[tokio::test]
    async fn workers_that_were_closed_do_nothing() {
        let workers = Workers::start(2).unwrap();
        workers.close();
        assert_eq!(workers.run(|| 1).await, None);
    }
}
