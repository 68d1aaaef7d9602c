//! "Did you mean": the known word that is nearest to a misspelt one.

/// Returns the known word that `word` was probably meant to be.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.to_lowercase().chars().collect();
    if word.is_empty() || word.len() > 64 {
        return None;
    }
    known
        .into_iter()
        .map(|candidate| {
            let chars: Vec<char> = candidate.to_lowercase().chars().collect();
            (distance(&word, &chars), word.len().max(chars.len()), candidate)
        })
        .filter(|(distance, length, _)| *distance <= (length / 3).max(1) && distance < length)
        .min_by_key(|(distance, ..)| *distance)
        .map(|(.., candidate)| candidate)
}

/// Returns "did you mean 'x'? " with the words that would do, as one hint.
pub(crate) fn hint(word: &str, what: &str, known: &[&str]) -> String {
    let list = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    match nearest(word, known.iter().copied()) {
        Some(nearest) => format!("did you mean '{nearest}'? {what}: {list}"),
        None => format!("{what}: {list}"),
    }
}

/// Counts insertions, deletions, replacements and swaps of neighbours.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let replaced = last[j] + usize::from(a[i] != b[j]);
            let mut best = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_suggested_where_one_is_near() {
        let known = ["sandbox", "sandboxes", "approval", "mode", "rw", "ro"];
        let cases = [
            ("sanbox", Some("sandbox")),
            ("Sandbox", Some("sandbox")),
            ("aproval", Some("approval")),
            ("moed", Some("mode")),
            ("rww", Some("rw")),
            ("network", None),
            ("x", None),
            ("", None),
        ];
        for (word, want) in cases {
            assert_eq!(nearest(word, known), want, "{word}");
        }
        assert_eq!(nearest(&"x".repeat(1000), known), None);
    }
}
