//! Names of models: `PROVIDER:NAME`, and patterns for them.

use crate::guard::name_matches;
use crate::source::Ruled;

/// Returns whether a pattern, where `*` stands for any part, is for a model.
pub fn matches(pattern: &str, model: &str) -> bool {
    name_matches(pattern.as_bytes(), model.as_bytes())
}

/// What models cost (`prices`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prices {
    /// What the amounts are of, such as `USD`.
    pub currency: Option<Ruled<String>>,
    /// The prices, in file order; the first whose pattern fits counts.
    pub models: Vec<Price>,
}

/// What a model costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    /// The models it is for.
    pub pattern: Ruled<String>,
    /// Millionths of the currency for a million tokens that the model reads.
    pub input: u64,
    /// Millionths of the currency for a million tokens that the model writes.
    pub output: u64,
}

impl Prices {
    /// Returns the price of a model, where there is one.
    pub fn of(&self, model: &str) -> Option<&Price> {
        self.models.iter().find(|price| matches(&price.pattern.value, model))
    }
}

impl Price {
    /// Returns what so many tokens cost, in millionths of the currency, rounded up.
    pub fn cost(&self, input: u64, output: u64) -> u64 {
        let part = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let all = part(input, self.input) + part(output, self.output);
        u64::try_from(all.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_price_that_fits_counts() {
        let price = |pattern: &str, input, output| Price {
            pattern: Ruled::default_of(pattern.to_owned()),
            input,
            output,
        };
        let prices = Prices {
            currency: None,
            models: vec![price("a:x-*", 3_000_000, 15_000_000), price("a:*", 1, 0)],
        };
        assert_eq!(prices.of("a:x-1").map(|price| price.cost(1000, 100)), Some(4500));
        assert_eq!(prices.of("a:y").map(|price| price.cost(1, 9)), Some(1));
        assert_eq!(prices.of("b:x-1"), None);
        assert_eq!(price("*", u64::MAX, 0).cost(u64::MAX, 1), u64::MAX);
    }
}
