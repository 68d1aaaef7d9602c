//! Measuring two ways of doing the same thing, side by side.
//!
//! Times on their own say more about the machine than about the code, so what
//! is reported is a ratio of medians. Both sides take turns in one run, and
//! which of the two begins changes every round, so that neither has the quiet
//! half of the run to itself.

use std::fmt::Write;
use std::time::{Duration, Instant};

/// What the command line and the environment ask for.
#[derive(Debug, Clone)]
pub struct Options {
    /// Small sizes and few rounds: shows that the bench works, and no more.
    pub quick: bool,
    /// Only measures whose name contains this.
    only: Option<String>,
}

impl Options {
    /// Reads them. `cargo bench` adds a `--bench` that means nothing here.
    pub fn of_process() -> Self {
        let args: Vec<String> = std::env::args().skip(1).collect();
        let quick = std::env::var_os("ZONEKEEP_BENCH_QUICK").is_some_and(|value| value != "0");
        Options {
            quick: quick || args.iter().any(|arg| arg == "--quick"),
            only: args.into_iter().find(|arg| !arg.starts_with('-')),
        }
    }

    /// Returns whether a measure is wanted.
    pub fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| name.contains(only.as_str()))
    }

    /// Returns `full`, or `quick` in a quick run.
    pub fn size<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }
}

/// Two medians, taken side by side.
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    ours: Duration,
    theirs: Duration,
    rounds: usize,
}

impl Pair {
    /// Returns the medians of times that were taken by turns.
    pub fn of(ours: Vec<Duration>, theirs: Vec<Duration>) -> Self {
        let rounds = ours.len();
        Pair { ours: median(ours), theirs: median(theirs), rounds }
    }

    /// Returns the median of ours in milliseconds.
    #[allow(dead_code, reason = "not every bench has a bar for it")]
    pub fn ours_ms(&self) -> f64 {
        self.ours.as_secs_f64() * 1_000.0
    }
}

/// Runs both by turns, after one round each that does not count.
pub fn side_by_side(rounds: usize, mut ours: impl FnMut(), mut theirs: impl FnMut()) -> Pair {
    let timed = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    let mut times = (Vec::with_capacity(rounds), Vec::with_capacity(rounds));
    timed(&mut ours);
    timed(&mut theirs);
    for round in 0..rounds {
        if round % 2 == 0 {
            times.0.push(timed(&mut ours));
            times.1.push(timed(&mut theirs));
        } else {
            times.1.push(timed(&mut theirs));
            times.0.push(timed(&mut ours));
        }
    }
    Pair::of(times.0, times.1)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// The results so far.
#[derive(Debug)]
pub struct Table {
    /// Whether the results can be held against their bars.
    judged: bool,
    text: String,
    lines: String,
}

impl Table {
    /// Returns an empty table.
    pub fn new(options: &Options) -> Self {
        Table { judged: !options.quick, text: String::new(), lines: String::new() }
    }

    /// Adds a ratio. `bar` is the most that it should be, where there is such.
    pub fn ratio(&mut self, name: &str, what: &str, bar: Option<f64>, pair: Pair) {
        let ratio = pair.ours.as_secs_f64() / pair.theirs.as_secs_f64();
        self.row(what, bar, ratio, "x");
        let (ours, theirs) = (pair.ours.as_nanos(), pair.theirs.as_nanos());
        self.line(name, bar, ratio);
        let rounds = pair.rounds;
        let _ = writeln!(self.lines, " ours_ns={ours} theirs_ns={theirs} rounds={rounds}");
    }

    /// Adds an amount that is held against a bar as it is.
    #[allow(dead_code, reason = "not every bench measures an amount")]
    pub fn amount(&mut self, name: &str, what: &str, bar: f64, amount: f64, unit: &str) {
        self.row(what, Some(bar), amount, unit);
        self.line(name, Some(bar), amount);
        let _ = writeln!(self.lines, " unit={unit}");
    }

    /// Adds a measure that could not be taken.
    #[allow(dead_code, reason = "not every bench can be short of something")]
    pub fn skipped(&mut self, name: &str, what: &str, why: &str) {
        let _ = writeln!(self.text, "  {what:<64} skipped: {why}");
        let _ = writeln!(self.lines, "bench name={name} skipped");
    }

    fn row(&mut self, what: &str, bar: Option<f64>, value: f64, unit: &str) {
        let (bar, verdict) = match bar {
            Some(bar) if !self.judged => (format!("{bar:.1}"), ""),
            Some(bar) => (format!("{bar:.1}"), if value <= bar { "ok" } else { "MISSED" }),
            None => ("-".to_owned(), ""),
        };
        let _ = writeln!(self.text, "  {what:<64} {value:>8.2} {unit:<4} {bar:>6}  {verdict}");
    }

    fn line(&mut self, name: &str, bar: Option<f64>, value: f64) {
        let bar = bar.map_or_else(|| "none".to_owned(), |bar| bar.to_string());
        let _ = write!(self.lines, "bench name={name} value={value:.3} bar={bar}");
    }

    /// Prints the table for people and, after it, the lines for programs.
    pub fn print(&self) {
        let sizes = if self.judged { "" } else { "; too quick to be judged" };
        println!("\n  ours / theirs, medians measured side by side{sizes}");
        println!("  {:<64} {:>8} {:<4} {:>6}", "", "measured", "", "bar");
        println!("{}\n{}", self.text, self.lines);
    }
}
