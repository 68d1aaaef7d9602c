//! Command lines: what they would run, and which rules speak of it.
//!
//! `parse` takes a line apart, `known` says what programs do with their words,
//! `pattern` compares a rule with a command, and [`decide()`] puts the layers of
//! a grant together. [`judge_command`] turns the result into a verdict.

mod args;
pub mod change;
pub(crate) mod check;
pub mod decide;
mod facts;
pub mod judge;
pub mod known;
mod leaving;
pub mod line;
pub mod parse;
pub mod pattern;
pub mod rule;
pub mod words;

pub use change::{Insert, smallest, suggest};
pub use decide::{Decided, Decision, blocked_argv, decide, decide_argv};
pub use judge::{
    CommandJudgement, CommandPermit, CommandQuestion, CommandText, CommandVerdict, Request,
    judge_command,
};
pub use known::hazards::Hazard;
pub use leaving::{Leaving, Remedy};
pub use line::{Line, Redirect, RedirectKind, Simple, Unparsed, Within, Word};
pub use parse::{MAX_TEXT, parse};
pub use pattern::{Match, Pattern, PatternError};
pub use rule::{Layer, Preset, Rules, ShellMode};
pub use words::{NotPlain, split};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
