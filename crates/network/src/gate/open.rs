//! The connections of a gate: how many there are, and how they end.

use std::future::poll_fn;
use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Poll, ready};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

use super::listen::{Listener, is_of_one};
use super::lock;

/// More connections than any queue of a listener holds.
const QUEUE: usize = 1 << 16;

/// The connections that are open.
#[derive(Debug, Default)]
pub(crate) struct Open {
    count: Mutex<usize>,
    none: Condvar,
    /// Whether nobody is let in. Held while a connection is accepted, so that it
    /// comes either before a cut or after it.
    shut: Mutex<bool>,
    /// Tells all of them to end.
    cut: Arc<Notify>,
}

impl Open {
    /// Counts a connection until what is returned is dropped.
    pub(crate) fn enter(self: &Arc<Open>) -> Entered {
        *lock(&self.count) += 1;
        Entered(Arc::clone(self))
    }

    /// Waits until there is none, at most for a while.
    pub(crate) fn wait(&self, at_most: Duration) {
        let end = Instant::now() + at_most;
        let mut count = lock(&self.count);
        while *count > 0 {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let woken = self.none.wait_timeout(count, left);
            count = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns the next connection, with what tells it to end; none where it came
    /// to a gate that is shut, and is over.
    pub(crate) async fn accept(
        &self,
        listener: &Listener,
    ) -> io::Result<Option<(TcpStream, OwnedNotified)>> {
        poll_fn(|context| {
            let shut = lock(&self.shut);
            let (stream, _) = ready!(listener.poll_accept(context))?;
            let cut = Arc::clone(&self.cut).notified_owned();
            Poll::Ready(Ok((!*shut).then_some((stream, cut))))
        })
        .await
    }

    /// Ends those that are open and those that wait.
    pub(crate) fn cut(&self, listeners: &[Listener]) {
        let _held = lock(&self.shut);
        self.end_all(listeners);
    }

    /// Ends them, and lets nobody in any more.
    pub(crate) fn shut(&self, listeners: &[Listener]) {
        let mut shut = lock(&self.shut);
        *shut = true;
        self.end_all(listeners);
    }

    /// Lets in who comes from now on.
    pub(crate) fn reopen(&self, listeners: &[Listener]) {
        let mut shut = lock(&self.shut);
        if *shut {
            self.end_all(listeners);
            *shut = false;
        }
    }

    fn end_all(&self, listeners: &[Listener]) {
        self.cut.notify_waiters();
        listeners.iter().for_each(empty);
    }
}

/// Ends the connections that nobody has accepted yet.
fn empty(listener: &Listener) {
    let Ok(waiting) = listener.as_fd().try_clone_to_owned().map(TcpListener::from) else { return };
    for _ in 0..QUEUE {
        match waiting.accept() {
            Ok(_) => {}
            Err(error) if is_of_one(&error) => {}
            Err(_) => return,
        }
    }
}

/// A connection that is counted.
pub(crate) struct Entered(Arc<Open>);

impl Drop for Entered {
    fn drop(&mut self) {
        let mut count = lock(&self.0.count);
        *count -= 1;
        if *count == 0 {
            self.0.none.notify_all();
        }
    }
}

#[cfg(test)]
#[path = "open_tests.rs"]
mod tests;
