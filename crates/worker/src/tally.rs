//! What the runs of a session came to, all together.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use zonekeep::policy::model_name::Prices;

use crate::calls::Done;
use crate::event::Layer;
use crate::model::Usage;

/// What the runs of a session came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// How many tools were called.
    pub calls: u64,
    /// How many calls were refused, by whom.
    pub refused: BTreeMap<&'static str, u64>,
    /// How many commands ran.
    pub commands: u64,
    /// How many of them could reach anything outside.
    pub commands_with_network: u64,
    /// What the models used.
    pub usage: Usage,
    /// What that costs, where the project says what each of them costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// What the cost is in, such as `USD`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// How long it took, in milliseconds.
    pub duration_ms: f64,
    /// How long models took of that.
    pub model_ms: f64,
    /// How long tools took of that, commands too. With workers at work at the
    /// same time it can be more than all.
    pub tools_ms: f64,
}

/// Counts.
#[derive(Debug)]
pub(crate) struct Tally {
    begun: Instant,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    calls: BTreeMap<u64, u64>,
    refused: BTreeMap<Layer, u64>,
    commands: u64,
    commands_with_network: u64,
    usage: BTreeMap<String, Usage>,
    asked: Duration,
    called: Duration,
}

impl Default for Tally {
    fn default() -> Self {
        Tally { begun: Instant::now(), counts: Mutex::default() }
    }
}

impl Tally {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes how long a model took.
    pub(crate) fn asked(&self, took: Duration) {
        self.counts().asked += took;
    }

    /// Notes what a model used.
    pub(crate) fn spent(&self, model: &str, usage: Usage) {
        *self.counts().usage.entry(model.to_owned()).or_default() += usage;
    }

    /// Notes what a call came to.
    pub(crate) fn called(&self, run: u64, done: &Done, took: Duration) {
        let mut counts = self.counts();
        *counts.calls.entry(run).or_default() += 1;
        if let Some(layer) = done.refused_by {
            *counts.refused.entry(layer).or_default() += 1;
        }
        if let Some(network) = done.command {
            counts.commands += 1;
            counts.commands_with_network += u64::from(network);
        }
        // What a worker took is counted in its own run.
        if done.usage == Usage::default() {
            counts.called += took;
        }
    }

    /// Returns how many tools a run has called.
    pub(crate) fn calls_of(&self, run: u64) -> u64 {
        self.counts().calls.get(&run).copied().unwrap_or(0)
    }

    pub(crate) fn report(&self, prices: &Prices) -> Report {
        let counts = self.counts();
        let mut usage = Usage::default();
        let mut cost = Some(0.0);
        for (model, used) in &counts.usage {
            usage += *used;
            let price = prices.of(model).map(|price| price.cost(used.input, used.output));
            cost = cost.and_then(|cost: f64| Some(cost + price? as f64 / 1e6));
        }
        Report {
            calls: counts.calls.values().sum(),
            refused: counts.refused.iter().map(|(layer, n)| (layer.as_str(), *n)).collect(),
            commands: counts.commands,
            commands_with_network: counts.commands_with_network,
            usage,
            cost: cost.filter(|_| !counts.usage.is_empty()),
            currency: prices.currency.as_ref().map(|currency| currency.value.clone()),
            duration_ms: millis(self.begun.elapsed()),
            model_ms: millis(counts.asked),
            tools_ms: millis(counts.called),
        }
    }
}

fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
