//! Looks for placeholders in what flows by.

use super::Needles;

/// The end of what has flowed by, as far as it may be the beginning of something.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    tail: Vec<u8>,
}

impl Scanner {
    /// Forgets what has flowed by.
    pub(crate) fn restart(&mut self) {
        self.tail.clear();
    }

    /// Looks at the next bytes; returns which needle ends in them, if any does.
    pub(crate) fn push(&mut self, needles: &Needles, bytes: &[u8]) -> Option<usize> {
        if needles.is_empty() {
            return None;
        }
        // Only so much can belong to what has begun before.
        let near = &bytes[..bytes.len().min(needles.longest())];
        let found = if self.tail.is_empty() {
            None
        } else {
            self.tail.extend_from_slice(near);
            needles.find(&self.tail, 0)
        };
        let found = found.or_else(|| needles.find(bytes, 0));
        if self.tail.is_empty() || near.len() < bytes.len() {
            self.tail = bytes[bytes.len() - needles.begun(bytes)..].to_vec();
        } else {
            self.tail.drain(..self.tail.len() - needles.begun(&self.tail));
        }
        found.map(|(_, which)| which)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Wiped;
    use super::*;

    fn needles() -> Needles {
        Needles::new([&b"zonekeep-secret-a"[..], b"eep-x"].map(|word| Wiped(word.to_vec())).into())
    }

    #[test]
    fn a_needle_is_found_wherever_it_is_cut() {
        let text = b"zonekeep-zonekeep-secret-ab";
        for first in 0..=text.len() {
            for second in first..=text.len() {
                let mut scanner = Scanner::default();
                let parts = [&text[..first], &text[first..second], &text[second..]];
                let found: Vec<_> =
                    parts.into_iter().filter_map(|part| scanner.push(&needles(), part)).collect();
                assert_eq!(found, [0], "{first} {second}");
            }
        }
        let mut scanner = Scanner::default();
        let found: Vec<_> =
            text.iter().filter_map(|byte| scanner.push(&needles(), &[*byte])).collect();
        assert_eq!(found, [0]);
    }

    #[test]
    fn what_was_before_a_restart_does_not_count() {
        let mut scanner = Scanner::default();
        assert_eq!(scanner.push(&needles(), b"zonekeep-sec"), None);
        scanner.restart();
        assert_eq!(scanner.push(&needles(), b"ret-a"), None);
    }

    proptest! {
        #[test]
        fn pieces_say_what_the_whole_says(
            text in "(zone|keep|-secret|-a|-x|e|z){0,20}",
            cuts in prop::collection::vec(0usize..100, 0..8),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort();
            let mut scanner = Scanner::default();
            let found = cuts.windows(2).any(|cut| {
                scanner.push(&needles(), &text.as_bytes()[cut[0]..cut[1]]).is_some()
            });
            prop_assert_eq!(found, needles().find(text.as_bytes(), 0).is_some());
        }
    }
}
