//! What a session has used of the network, and what a connection uses.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use zonekeep_policy::limit::Limits;

use crate::event::{Reason, Refusal};

/// What all gates of a session have used together.
#[derive(Debug, Default)]
pub struct Account {
    into: AtomicU64,
    out: AtomicU64,
    connections: AtomicU64,
    slots: OnceLock<Slots>,
    /// Bytes of what clients have begun to say and not ended.
    held: AtomicUsize,
}

/// The most connections at a time, of a session.
const AT_A_TIME: u64 = 4096;

/// The most bytes that are held of what clients have begun to say.
const HELD: usize = 16 << 20;

/// Open files that are left to others, at least, and how many a connection needs
/// at most.
const LEFT: u64 = 256;
const FILES: u64 = 3;

/// As many connections as may be open at a time, in a session.
#[derive(Debug)]
pub(crate) struct Slots {
    pub(crate) count: usize,
    /// Connections take one of these, for as long as they are open.
    pub(crate) free: Arc<Semaphore>,
}

/// What was used until now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    /// Bytes that commands received.
    pub into: u64,
    /// Bytes that commands sent.
    pub out: u64,
    /// Connections that were opened, in all.
    pub connections: u64,
}

impl Account {
    /// Returns what was used until now.
    pub fn used(&self) -> Used {
        Used {
            into: self.into.load(Ordering::Relaxed),
            out: self.out.load(Ordering::Relaxed),
            connections: self.connections.load(Ordering::Relaxed),
        }
    }

    /// Takes one connection of those that are left.
    pub(crate) fn connect(&self, limits: &Limits) -> Result<(), Refusal> {
        take(&self.connections, 1, limits.connections)
            .ok_or_else(|| over("the session has made all the connections it may make"))
    }

    /// Returns what limits how many connections are open at a time.
    ///
    /// Commands make connections, and the program outside needs files for more
    /// than those.
    pub(crate) fn slots(&self) -> &Slots {
        self.slots.get_or_init(|| {
            let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
            let count = slots_for(files);
            Slots { count, free: Arc::new(Semaphore::new(count)) }
        })
    }

    /// Takes memory for what clients have begun to say, if any is left: what a
    /// command makes the program outside hold counts against no limit of its own.
    pub(crate) fn hold(&self, bytes: usize) -> bool {
        let add = |held: usize| held.checked_add(bytes).filter(|&held| held <= HELD);
        self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    /// Gives memory back.
    pub(crate) fn release(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn counter(&self, way: Way) -> &AtomicU64 {
        match way {
            Way::In => &self.into,
            Way::Out => &self.out,
        }
    }
}

/// Returns how many connections may be open at a time with so many files.
fn slots_for(files: u64) -> usize {
    let left = LEFT.max(files / 4);
    let slots = (files.saturating_sub(left) / FILES).clamp(16, AT_A_TIME);
    usize::try_from(slots).unwrap_or(16)
}

fn over(detail: &str) -> Refusal {
    Refusal::new(Reason::Limit, detail)
}

/// Adds to a counter what still fits under the limit, or nothing.
fn take(counter: &AtomicU64, count: u64, limit: Option<u64>) -> Option<()> {
    let add = |used: u64| {
        let sum = used.saturating_add(count);
        limit.is_none_or(|limit| sum <= limit).then_some(sum)
    };
    counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).ok().map(|_| ())
}

/// A direction, as the command sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// To the command.
    In,
    /// From the command.
    Out,
}

/// What one connection uses, taken from the session's account.
#[derive(Debug)]
pub(crate) struct Meter {
    account: Arc<Account>,
    limit_in: Option<u64>,
    limit_out: Option<u64>,
    into: AtomicU64,
    out: AtomicU64,
    since: Instant,
    /// Milliseconds after `since` at which something last moved.
    last: AtomicU64,
}

impl Meter {
    pub(crate) fn new(account: &Arc<Account>, limits: &Limits) -> Meter {
        Meter {
            account: Arc::clone(account),
            limit_in: limits.network_in,
            limit_out: limits.network_out,
            into: AtomicU64::new(0),
            out: AtomicU64::new(0),
            since: Instant::now(),
            last: AtomicU64::new(0),
        }
    }

    /// Returns how many bytes to read at most, out of `wanted`: never none, so
    /// that the end of a stream is still seen when nothing more may pass.
    pub(crate) fn room(&self, way: Way, wanted: usize) -> usize {
        let Some(limit) = self.limit(way) else { return wanted };
        let used = self.account.counter(way).load(Ordering::Relaxed);
        let left = usize::try_from(limit.saturating_sub(used)).unwrap_or(usize::MAX);
        wanted.min(left.max(1))
    }

    /// Counts bytes that are about to pass, or refuses them.
    pub(crate) fn take(&self, way: Way, bytes: usize) -> Result<(), Refusal> {
        let bytes = bytes as u64;
        let taken = take(self.account.counter(way), bytes, self.limit(way));
        taken.ok_or_else(|| match way {
            Way::In => over("the session has received all the bytes it may receive"),
            Way::Out => over("the session has sent all the bytes it may send"),
        })?;
        match way {
            Way::In => &self.into,
            Way::Out => &self.out,
        }
        .fetch_add(bytes, Ordering::Relaxed);
        self.last.store(self.millis(), Ordering::Relaxed);
        Ok(())
    }

    fn limit(&self, way: Way) -> Option<u64> {
        match way {
            Way::In => self.limit_in,
            Way::Out => self.limit_out,
        }
    }

    /// Returns the bytes that went out and came in.
    pub(crate) fn passed(&self) -> (u64, u64) {
        (self.out.load(Ordering::Relaxed), self.into.load(Ordering::Relaxed))
    }

    /// Returns how long the connection has been there.
    pub(crate) fn millis(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Waits until nothing has moved for a while, in either direction.
    pub(crate) async fn idle(&self, patience: Duration) {
        loop {
            let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
            let end = self.since + last + patience;
            if Instant::now() >= end {
                return;
            }
            tokio::time::sleep_until(end).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(into: Option<u64>, out: Option<u64>, connections: Option<u64>) -> Limits {
        Limits { network_in: into, network_out: out, connections, ..Limits::none() }
    }

    #[test]
    fn connections_of_a_session_share_its_limits() {
        let account = Arc::new(Account::default());
        let limits = limits(Some(100), Some(10), Some(2));
        let (a, b) = (Meter::new(&account, &limits), Meter::new(&account, &limits));
        account.connect(&limits).unwrap();
        account.connect(&limits).unwrap();
        assert_eq!(account.connect(&limits).unwrap_err().reason, Reason::Limit);

        assert_eq!(a.room(Way::Out, 4096), 10);
        a.take(Way::Out, 6).unwrap();
        assert_eq!(b.room(Way::Out, 4096), 4);
        b.take(Way::Out, 4).unwrap();
        assert_eq!(a.room(Way::Out, 4096), 1, "the end of the stream must still be seen");
        assert_eq!(a.take(Way::Out, 1).unwrap_err().reason, Reason::Limit);

        b.take(Way::In, 100).unwrap();
        assert!(b.take(Way::In, 1).is_err());
        assert_eq!(account.used(), Used { into: 100, out: 10, connections: 2 });
        assert_eq!((a.passed(), b.passed()), ((6, 0), (4, 100)));
    }

    #[test]
    fn connections_leave_files_to_others() {
        for (files, slots) in [(64, 16), (1024, 256), (4096, 1024), (16384, 4096), (u64::MAX, 4096)]
        {
            assert_eq!(slots_for(files), slots, "{files}");
        }
    }

    #[test]
    fn without_limits_everything_is_counted_and_nothing_refused() {
        let account = Arc::new(Account::default());
        let meter = Meter::new(&account, &limits(None, None, None));
        assert_eq!(meter.room(Way::In, 4096), 4096);
        meter.take(Way::In, 1 << 40).unwrap();
        meter.take(Way::In, 1 << 40).unwrap();
        assert_eq!(account.used().into, 2 << 40);
    }

    #[tokio::test]
    async fn a_connection_is_idle_when_nothing_moves() {
        let meter = Meter::new(&Arc::default(), &limits(None, None, None));
        meter.idle(Duration::from_millis(5)).await;
        let long = meter.idle(Duration::from_secs(3600));
        assert!(tokio::time::timeout(Duration::from_millis(5), long).await.is_err());
    }
}
