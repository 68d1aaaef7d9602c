//! The connections of a command that did not come about.

use zonekeep_network::Reason;
use zonekeep_policy::denial::shown;

/// How many different names that were looked up in vain are kept of one command, for
/// each reason: a program can make up as many as it likes.
const MAX_LOOKUPS: usize = 100;
/// How many different connections that were refused are, for each reason.
const MAX_REFUSED: usize = 1000;

/// A connection that did not come about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) reason: Reason,
    pub(super) to: String,
    pub(super) why: String,
}

impl Refusal {
    pub(super) fn new(reason: Reason, to: &str, why: &str) -> Refusal {
        Refusal { reason, to: shown(to), why: shown(why) }
    }

    /// Returns whether a rule said so, and not the network.
    pub(super) fn is_by_rule(&self) -> bool {
        self.reason != Reason::Unreachable
    }

    /// Returns whether a name was only looked up; then it has no port.
    fn is_lookup(&self) -> bool {
        !self.to.contains(':')
    }
}

/// Those of a command that are kept.
///
/// Each reason has room of its own, so that many of one do not hide another.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    kept: Vec<Refusal>,
    /// Those by rule that there was no room for.
    more: u64,
}

impl Refusals {
    /// Keeps a refusal. Returns whether it is a new one, and there was room for it.
    pub(super) fn keep(&mut self, refusal: Refusal) -> bool {
        if self.kept.contains(&refusal) {
            return false;
        }
        let kind = |refusal: &Refusal| (refusal.reason, refusal.is_lookup());
        let same = self.kept.iter().filter(|held| kind(held) == kind(&refusal)).count();
        let most = if refusal.is_lookup() { MAX_LOOKUPS } else { MAX_REFUSED };
        if same >= most {
            self.more += u64::from(refusal.is_by_rule());
            return false;
        }
        self.kept.push(refusal);
        true
    }

    /// Returns them, those about secrets first, and how many more there were.
    pub(super) fn into_parts(self) -> (Vec<Refusal>, u64) {
        let Refusals { mut kept, more } = self;
        kept.sort_by_key(|refusal| refusal.reason != Reason::Secret);
        (kept, more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_of_one_reason_do_not_hide_another() {
        let cheap = [(Reason::NotAllowed, 1), (Reason::Unreachable, 0)];
        for (reason, counted) in cheap {
            let mut refusals = Refusals::default();
            let kept = (0..MAX_REFUSED + 500)
                .filter(|n| refusals.keep(Refusal::new(reason, &format!("n{n}.test:443"), "no")));
            assert_eq!(kept.count(), MAX_REFUSED);
            let others = [
                Refusal::new(Reason::Denied, "evil.test:443", "it is a refused host"),
                Refusal::new(Reason::Address, "169.254.169.254:80", "it is private"),
                Refusal::new(Reason::Secret, "far.test:80", "the secret does not belong there"),
                Refusal::new(Reason::NotAllowed, "a.name", "it is not an allowed host"),
            ];
            for refusal in &others {
                assert!(refusals.keep(refusal.clone()), "{refusal:?}");
                assert!(!refusals.keep(refusal.clone()), "it is kept already");
            }
            let (kept, more) = refusals.into_parts();
            assert_eq!((kept.len(), more), (MAX_REFUSED + others.len(), 500 * counted));
            assert_eq!(kept.first().map(|refusal| refusal.reason), Some(Reason::Secret));
        }
    }
}
