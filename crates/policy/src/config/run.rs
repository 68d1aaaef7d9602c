//! How workers run, and what that costs.

use super::problem::Problems;
use super::yaml::Node;
use crate::limit;
use crate::model_name::{Price, Prices};
use crate::run::RunDefaults;
use crate::source::Ruled;

/// Reads `delegation`, besides its depth.
pub(crate) fn defaults(node: &Node, problems: &mut Problems) -> RunDefaults {
    let silent = RunDefaults::default();
    RunDefaults {
        max_turns: count(node, "max_turns").unwrap_or(silent.max_turns),
        budget: count(node, "budget"),
        time_ms: time(node, problems),
    }
}

/// Reads a whole number.
pub(crate) fn count(node: &Node, key: &str) -> Option<Ruled<u64>> {
    let node = node.get(key)?;
    Some(Ruled::new(node.int()?, node.at()))
}

/// Reads `time`, in milliseconds.
pub(crate) fn time(node: &Node, problems: &mut Problems) -> Option<Ruled<u64>> {
    let node = node.get("time")?;
    match limit::time(node.text()?) {
        Ok(time) => Some(Ruled::new(time?, node.at())),
        Err(error) => {
            problems.error("bad_value", &node.mark, error.to_string()).hint(error.hint());
            None
        }
    }
}

/// Reads `prices`.
pub(crate) fn prices(node: &Node, problems: &mut Problems) -> Prices {
    let mut prices = Prices::default();
    for (key, value) in node.entries() {
        match (key.text.as_str(), value.text()) {
            ("currency", Some(text)) => {
                prices.currency = Some(Ruled::new(text.to_owned(), value.at()));
            }
            ("currency", None) => {
                let message = "'prices.currency' must be text, such as USD";
                problems.error("wrong_type", &value.mark, message).hint("write currency: USD");
            }
            (name, Some(_)) => {
                let message = format!("'prices.{name}' must be a map, with input and output");
                let problem = problems.error("wrong_type", &value.mark, message);
                problem.hint("write what a million tokens cost, such as { input: 3, output: 15 }");
            }
            (name, None) => {
                let amount = |key: &str| value.get(key).and_then(|node| node.decimal(6));
                prices.models.push(Price {
                    pattern: Ruled::new(name.to_owned(), key.mark.at()),
                    input: amount("input").unwrap_or_default(),
                    output: amount("output").unwrap_or_default(),
                });
            }
        }
    }
    prices
}
