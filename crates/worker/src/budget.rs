//! How much a run may use: tokens and time, shared with the workers it calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use zonekeep::Stop;

use crate::model::Usage;

/// What one run may use. What a worker uses counts for its callers too, so the
/// workers below never have more than is left above.
#[derive(Debug)]
pub(crate) struct Budget {
    tokens: Option<u64>,
    used: AtomicU64,
    deadline: Option<Instant>,
    above: Option<Arc<Budget>>,
}

impl Budget {
    /// Returns a budget that is part of another one.
    pub(crate) fn new(
        tokens: Option<u64>,
        time: Option<Duration>,
        above: Option<&Arc<Budget>>,
    ) -> Arc<Self> {
        let own = time.and_then(|time| Instant::now().checked_add(time));
        let outer = above.and_then(|above| above.deadline);
        Arc::new(Budget {
            tokens,
            used: AtomicU64::new(0),
            deadline: [own, outer].into_iter().flatten().min(),
            above: above.cloned(),
        })
    }

    /// Returns how many tokens are left; `None` is any number.
    pub(crate) fn left(&self) -> Option<u64> {
        let own = self.tokens.map(|all| all.saturating_sub(self.used.load(Ordering::SeqCst)));
        let above = self.above.as_ref().and_then(|above| above.left());
        [own, above].into_iter().flatten().min()
    }

    /// Notes what was used.
    pub(crate) fn spend(&self, usage: Usage) {
        let add = |used| Some(u64::saturating_add(used, usage.total()));
        let _ = self.used.fetch_update(Ordering::SeqCst, Ordering::SeqCst, add);
        if let Some(above) = &self.above {
            above.spend(usage);
        }
    }

    /// Returns when the time is over.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Returns whether the time is over.
    pub(crate) fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// Says stop when the time is over, unless it is dropped before.
#[derive(Debug)]
pub(crate) struct Timer(Stop);

impl Timer {
    /// Starts a timer.
    pub(crate) fn start(stop: Stop, deadline: Instant) -> Self {
        let over = Stop::new();
        let heard = over.clone();
        std::thread::spawn(move || {
            let left = deadline.saturating_duration_since(Instant::now());
            if !heard.wait(left) {
                stop.say();
            }
        });
        Timer(over)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.0.say();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(input: u64, output: u64) -> Usage {
        Usage { input, output, cached: 0 }
    }

    #[test]
    fn what_is_used_below_is_used_above() {
        let top = Budget::new(Some(100), None, None);
        let (a, b) = (Budget::new(Some(80), None, Some(&top)), Budget::new(None, None, Some(&top)));
        assert_eq!((a.left(), b.left()), (Some(80), Some(100)));
        a.spend(tokens(20, 10));
        assert_eq!((top.left(), a.left(), b.left()), (Some(70), Some(50), Some(70)));
        b.spend(tokens(60, 0));
        assert_eq!((top.left(), a.left(), b.left()), (Some(10), Some(10), Some(10)));
        b.spend(tokens(u64::MAX, u64::MAX));
        assert_eq!((top.left(), a.left()), (Some(0), Some(0)));
        assert_eq!(Budget::new(None, None, None).left(), None);
    }

    #[test]
    fn time_below_ends_with_the_time_above() {
        let minute = Duration::from_secs(60);
        let top = Budget::new(None, Some(minute), None);
        let long = Budget::new(None, Some(10 * minute), Some(&top));
        let short = Budget::new(None, Some(minute / 2), Some(&top));
        assert_eq!(long.deadline(), top.deadline());
        assert!(short.deadline() < top.deadline() && !short.is_late());
        assert!(Budget::new(None, Some(Duration::ZERO), Some(&top)).is_late());
    }
}
