//! How a worker runs: how long, how often, for how much, and what its result
//! has to look like.

use serde_json::Value;

use crate::source::Ruled;

/// How a worker runs (`mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunMode {
    /// One input, one result.
    #[default]
    Single,
    /// A conversation.
    Chat,
}

/// How a worker runs, as its file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSettings {
    /// One result, or a conversation.
    pub mode: RunMode,
    /// Whether it runs without input.
    pub allow_empty_input: bool,
    /// How often the model may be asked.
    pub max_turns: Option<Ruled<u64>>,
    /// How many tokens may be used.
    pub budget: Option<Ruled<u64>>,
    /// How long it may take, in milliseconds.
    pub time_ms: Option<Ruled<u64>>,
    /// How long one reply may be, in tokens.
    pub max_tokens: Option<u64>,
    /// How much of a conversation is kept, in tokens; `None` is all of it.
    pub max_context_tokens: Option<u64>,
    /// How freely the model chooses its words, in thousandths.
    pub temperature: Option<u32>,
    /// The JSON Schema that the result has to fit: an object.
    pub output_schema: Option<Ruled<Value>>,
    /// How often a result that does not fit is sent back.
    pub output_retries: u32,
}

impl Default for RunSettings {
    fn default() -> Self {
        RunSettings {
            mode: RunMode::Single,
            allow_empty_input: false,
            max_turns: None,
            budget: None,
            time_ms: None,
            max_tokens: None,
            max_context_tokens: None,
            temperature: None,
            output_schema: None,
            output_retries: 2,
        }
    }
}

impl RunSettings {
    /// Returns how freely the model chooses its words, from 0 to 2.
    pub fn temperature(&self) -> Option<f64> {
        self.temperature.map(|thousandths| f64::from(thousandths) / 1000.0)
    }

    /// Returns the limits of a run in a project: what the file says, and never
    /// more than what the project says.
    pub fn limits(&self, project: &RunDefaults) -> RunLimits {
        let smaller = |own: &Option<Ruled<u64>>, project: &Option<Ruled<u64>>| {
            [own, project].into_iter().flatten().map(|limit| limit.value).min()
        };
        let turns = Some(project.max_turns.clone()).filter(Ruled::is_written);
        RunLimits {
            max_turns: smaller(&self.max_turns, &turns).unwrap_or(project.max_turns.value),
            budget: smaller(&self.budget, &project.budget),
            time_ms: smaller(&self.time_ms, &project.time_ms),
        }
    }
}

/// What a project says about all runs (`delegation`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDefaults {
    /// How often the model may be asked; a default that nobody wrote is no limit
    /// for worker files.
    pub max_turns: Ruled<u64>,
    /// How many tokens one run may use.
    pub budget: Option<Ruled<u64>>,
    /// How long one run may take, in milliseconds.
    pub time_ms: Option<Ruled<u64>>,
}

impl Default for RunDefaults {
    fn default() -> Self {
        RunDefaults { max_turns: Ruled::default_of(50), budget: None, time_ms: None }
    }
}

/// The limits of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// How often the model may be asked.
    pub max_turns: u64,
    /// How many tokens may be used.
    pub budget: Option<u64>,
    /// How long it may take, in milliseconds.
    pub time_ms: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::At;

    #[test]
    fn a_file_makes_limits_smaller_and_never_larger() {
        let written = |value| Ruled::new(value, At::flag("test"));
        let silent = RunDefaults::default();
        let strict = RunDefaults {
            max_turns: written(10),
            budget: Some(written(1000)),
            time_ms: Some(written(5000)),
        };
        let limits = |max_turns, budget, time_ms| RunLimits { max_turns, budget, time_ms };
        let settings = |turns: Option<u64>, budget: Option<u64>, time: Option<u64>| RunSettings {
            max_turns: turns.map(written),
            budget: budget.map(written),
            time_ms: time.map(written),
            ..RunSettings::default()
        };
        let cases = [
            (settings(None, None, None), &silent, limits(50, None, None)),
            (settings(Some(90), Some(7), Some(8)), &silent, limits(90, Some(7), Some(8))),
            (settings(None, None, None), &strict, limits(10, Some(1000), Some(5000))),
            (
                settings(Some(90), Some(9999), Some(9999)),
                &strict,
                limits(10, Some(1000), Some(5000)),
            ),
            (settings(Some(3), Some(7), Some(8)), &strict, limits(3, Some(7), Some(8))),
        ];
        for (settings, project, want) in cases {
            assert_eq!(settings.limits(project), want, "{settings:?}");
        }
        let warm = RunSettings { temperature: Some(1250), ..RunSettings::default() };
        assert_eq!(warm.temperature(), Some(1.25));
    }
}
