//! The calls under way: how many, how they are ended, and who has to wait.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

/// The most calls under way at a time; more are refused.
pub(super) const MAX_CALLS: usize = 4096;
/// The most commands that run at a time; more wait.
const MAX_COMMANDS: usize = 32;
/// The most other calls that are worked on at a time; more wait.
const MAX_OTHERS: usize = 64;
/// How many threads there may be for calls.
pub(super) const THREADS: usize = MAX_COMMANDS + MAX_OTHERS + 16;
/// How many bytes may wait to be written before nothing new is begun.
const MAX_UNREAD: usize = 4 << 20;
/// How long calls may take to end once the client is gone.
const GRACE: Duration = Duration::from_secs(5);

/// The calls under way.
pub(super) struct Desk {
    calls: AtomicUsize,
    ended: Notify,
    commands: Semaphore,
    others: Semaphore,
    /// The bytes that wait for a client to read them.
    unread: AtomicUsize,
    read: Notify,
    /// Said when the client is gone, or the server is to end.
    over: CancellationToken,
}

/// A call under way.
pub(super) struct Ticket<'d>(&'d Desk);

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::SeqCst);
        self.0.ended.notify_waiters();
    }
}

impl Desk {
    pub(super) fn new() -> Self {
        Desk {
            calls: AtomicUsize::new(0),
            ended: Notify::new(),
            commands: Semaphore::new(MAX_COMMANDS),
            others: Semaphore::new(MAX_OTHERS),
            unread: AtomicUsize::new(0),
            read: Notify::new(),
            over: CancellationToken::new(),
        }
    }

    /// Takes a call on; `None` where there are too many.
    pub(super) fn take(&self) -> Option<Ticket<'_>> {
        if self.calls.fetch_add(1, Ordering::SeqCst) >= MAX_CALLS || self.over.is_cancelled() {
            self.calls.fetch_sub(1, Ordering::SeqCst);
            return None;
        }
        Some(Ticket(self))
    }

    /// Waits until a call can be worked on; `None` where it is over before that.
    /// Commands, which take long, do not keep others waiting.
    pub(super) async fn turn(&self, is_command: bool) -> Option<SemaphorePermit<'_>> {
        let turns = if is_command { &self.commands } else { &self.others };
        let turn = async {
            let turn = turns.acquire().await.ok();
            self.room().await;
            turn
        };
        tokio::select! {
            turn = turn => turn,
            () = self.over.cancelled() => None,
        }
    }

    /// Notes bytes that wait to be written.
    pub(super) fn wait(&self, bytes: usize) {
        self.unread.fetch_add(bytes, Ordering::SeqCst);
    }

    /// Notes bytes that wait no more.
    pub(super) fn written(&self, bytes: usize) {
        self.unread.fetch_sub(bytes, Ordering::SeqCst);
        self.read.notify_waiters();
    }

    /// Waits until the client has read enough of what it was sent.
    pub(super) async fn room(&self) {
        loop {
            let next = self.read.notified();
            if self.unread.load(Ordering::SeqCst) < MAX_UNREAD {
                return;
            }
            next.await;
        }
    }

    /// Returns the word that ends all calls.
    pub(super) fn over(&self) -> &CancellationToken {
        &self.over
    }

    /// Ends all calls and waits until they have ended, for a while.
    pub(super) async fn close(&self) {
        self.over.cancel();
        let ended = async {
            loop {
                let next = self.ended.notified();
                if self.calls.load(Ordering::SeqCst) == 0 {
                    return;
                }
                next.await;
            }
        };
        let _ = tokio::time::timeout(GRACE, ended).await;
    }
}
