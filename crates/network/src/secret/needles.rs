//! Byte strings that are looked for together.

use super::Wiped;

/// What is looked for.
#[derive(Debug, Clone)]
pub(crate) struct Needles {
    all: Vec<Wiped>,
    /// Whether any begins with a byte: most places are passed over by this alone.
    begins: [bool; 256],
    longest: usize,
}

impl Needles {
    /// Looks for all of these; none is empty.
    pub(crate) fn new(all: Vec<Wiped>) -> Needles {
        let mut begins = [false; 256];
        for first in all.iter().filter_map(|needle| needle.0.first()) {
            begins[usize::from(*first)] = true;
        }
        let longest = all.iter().map(|needle| needle.0.len()).max().unwrap_or(0);
        Needles { all, begins, longest }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// Finds the first that stands at or after a place: where, and which one,
    /// the longest of several.
    pub(crate) fn find(&self, bytes: &[u8], from: usize) -> Option<(usize, usize)> {
        let mut at = from;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            at += rest.iter().position(|byte| self.begins[usize::from(*byte)])?;
            let here = |(_, needle): &(usize, &Wiped)| bytes[at..].starts_with(&needle.0);
            let found = self.all.iter().enumerate().filter(here);
            if let Some((which, _)) = found.max_by_key(|(_, needle)| needle.0.len()) {
                return Some((at, which));
            }
            at += 1;
        }
        None
    }

    /// Returns how many bytes at the end may be the beginning of one.
    pub(crate) fn begun(&self, bytes: &[u8]) -> usize {
        let most = bytes.len().min(self.longest.saturating_sub(1));
        let begins = |count: &usize| {
            let end = &bytes[bytes.len() - count..];
            self.begins[usize::from(end[0])]
                && self
                    .all
                    .iter()
                    .any(|needle| needle.0.len() > *count && needle.0.starts_with(end))
        };
        (1..=most).rev().find(begins).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn needles(all: &[&str]) -> Needles {
        Needles::new(all.iter().map(|needle| Wiped(needle.as_bytes().to_vec())).collect())
    }

    #[test]
    fn the_first_is_found_and_of_two_the_longer() {
        let cases = [
            (&["abc", "abcd", "bcx"][..], "xxabcx", Some((2, 0))),
            (&["abc", "abcd", "bcx"], "xxabcd", Some((2, 1))),
            (&["abc"], "ababab", None),
            (&["abc"], "", None),
            (&[], "abc", None),
        ];
        for (all, text, want) in cases {
            assert_eq!(needles(all).find(text.as_bytes(), 0), want, "{all:?} in {text}");
        }
        assert_eq!(needles(&["aa"]).find(b"aaa", 1), Some((1, 0)));
        assert_eq!(needles(&["aa"]).find(b"aaa", 2), None);
        assert_eq!(needles(&["aa"]).find(b"aaa", 9), None);
    }

    #[test]
    fn a_beginning_at_the_end_is_told() {
        let all = needles(&["abab!", "b?"]);
        for (text, want) in
            [("", 0), ("x", 0), ("xab", 2), ("abab", 4), ("ababab", 4), ("abab!", 0), ("cb", 1)]
        {
            assert_eq!(all.begun(text.as_bytes()), want, "{text}");
        }
    }

    proptest! {
        #[test]
        fn it_finds_what_the_slow_way_finds(
            all in prop::collection::vec("[ab]{1,4}", 0..4),
            text in "[abc]{0,30}",
        ) {
            let words: Vec<&str> = all.iter().map(String::as_str).collect();
            let found = needles(&words).find(text.as_bytes(), 0);
            let slow = words.iter().filter_map(|word| text.find(word)).min();
            prop_assert_eq!(found.map(|(at, _)| at), slow);
        }
    }
}
