//! A word to stop, heard by everything that waits.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};

/// A word to stop that one part of a program says and others hear.
///
/// Whoever waits for something else can wait for this at the same time: see
/// [`fd`](Stop::fd). A stop made [`below`](Stop::below) another one hears that
/// one too, and is not heard by it.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    said: AtomicBool,
    /// Made on first use: reading from it ends when the word is said.
    ends: Mutex<Option<Ends>>,
    below: Mutex<Vec<Weak<Inner>>>,
}

/// A pipe that nothing is written to: closing one end wakes the other.
#[derive(Debug)]
struct Ends {
    read: Arc<OwnedFd>,
    write: Option<OwnedFd>,
}

/// Something to poll: it is readable, or hung up, once the word is said.
#[derive(Debug, Clone)]
pub struct StopFd(Arc<OwnedFd>);

impl From<StopFd> for Arc<OwnedFd> {
    fn from(fd: StopFd) -> Self {
        fd.0
    }
}

impl AsFd for StopFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Stop {
    /// Returns a word that nobody has said.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns one that hears this one too.
    pub fn below(&self) -> Self {
        let stop = Stop::new();
        let mut below = lock(&self.0.below);
        // Those that nobody listens to any more are forgotten.
        below.retain(|inner| inner.strong_count() > 0);
        below.push(Arc::downgrade(&stop.0));
        drop(below);
        if self.is_said() {
            stop.say();
        }
        stop
    }

    /// Says it; saying it again changes nothing.
    pub fn say(&self) {
        self.0.say();
    }

    /// Returns whether it was said.
    pub fn is_said(&self) -> bool {
        self.0.said.load(Ordering::SeqCst)
    }

    /// Returns something to poll.
    pub fn fd(&self) -> io::Result<StopFd> {
        let mut ends = lock(&self.0.ends);
        if let Some(ends) = &*ends {
            return Ok(StopFd(Arc::clone(&ends.read)));
        }
        let (read, write) = io::pipe()?;
        let read = Arc::new(OwnedFd::from(read));
        let write = Some(OwnedFd::from(write)).filter(|_| !self.is_said());
        *ends = Some(Ends { read: Arc::clone(&read), write });
        Ok(StopFd(read))
    }

    /// Waits; returns whether the word was said before the time was over.
    pub fn wait(&self, time: Duration) -> bool {
        let Ok(fd) = self.fd() else {
            std::thread::sleep(time.min(Duration::from_millis(50)));
            return self.is_said();
        };
        let deadline = std::time::Instant::now() + time;
        while !self.is_said() {
            let left = deadline.saturating_duration_since(std::time::Instant::now());
            if left.is_zero() {
                break;
            }
            let timeout = left.try_into().ok();
            let _ = poll(&mut [PollFd::new(&fd, PollFlags::IN)], timeout.as_ref());
        }
        self.is_said()
    }
}

impl Inner {
    fn say(&self) {
        self.said.store(true, Ordering::SeqCst);
        if let Some(ends) = &mut *lock(&self.ends) {
            ends.write = None;
        }
        let below = std::mem::take(&mut *lock(&self.below));
        for inner in below.iter().filter_map(Weak::upgrade) {
            inner.say();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_heard_by_whoever_waits_and_by_those_below() {
        let stop = Stop::new();
        let (below, other) = (stop.below(), Stop::new());
        let waiting = {
            let below = below.clone();
            std::thread::spawn(move || below.wait(Duration::from_secs(60)))
        };
        stop.say();
        assert!(waiting.join().unwrap());
        assert!(stop.is_said() && below.is_said() && stop.below().is_said());
        assert!(stop.wait(Duration::from_secs(60)) && !other.is_said());
    }

    #[test]
    fn a_word_below_is_not_heard_above() {
        let stop = Stop::new();
        stop.below().say();
        assert!(!stop.wait(Duration::from_millis(1)));
    }
}
