//! What deciding a command costs: a line of 200 characters against 1,000 rules,
//! beside the same line against none. Prints nanoseconds.

// A bench may fail loudly, and its table is what it is for.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::fmt::Write;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use zonekeep_policy::config::{Overrides, load};
use zonekeep_policy::shell::decide;
use zonekeep_policy::{AgentPath, Grant};

/// What a decision should cost at most.
const TARGET: Duration = Duration::from_micros(50);

const LINE: &str = "cd src && git log --oneline -n 20 -- lib.rs | grep -v 'merge|revert' | head -n 5; \
                    timeout 30 cargo test --all --no-run 2>/dev/null && echo 'all of it compiles and the log is shortenough' || true;    ";

fn main() {
    let quick = std::env::args().any(|arg| arg == "--quick")
        || std::env::var_os("ZONEKEEP_BENCH_QUICK").is_some_and(|value| value != "0");
    let rounds = if quick { 200 } else { 20_000 };
    let line = format!("{LINE:<200}");
    println!("{:<28}{:>12}{:>12}", "line of 200 characters", "median", "target");
    for count in [0, 10, 1000] {
        let grant = grant(count);
        let cwd = AgentPath::root();
        let mut times: Vec<Duration> = (0..rounds)
            .map(|_| {
                let start = Instant::now();
                black_box(decide(black_box(&grant), &cwd, black_box(&line), true));
                start.elapsed()
            })
            .collect();
        times.sort_unstable();
        let median = times[times.len() / 2];
        let target =
            if count == 1000 { format!("{} ns", TARGET.as_nanos()) } else { String::new() };
        println!("{:<28}{:>9} ns{target:>12}", format!("against {count} rules"), median.as_nanos());
    }
}

/// Returns a project with so many rules, of which the last few are for the line.
fn grant(count: usize) -> Grant {
    let mut text = "shell:\n  presets: [read_only]\n  rules:\n".to_owned();
    let programs = ["git", "npm", "docker", "kubectl", "make", "tool", "rm", "grep"];
    for i in 0..count {
        let program = programs[i % programs.len()];
        let approval = ["preApproved", "ask", "blocked"][i % 3];
        let name = if i % 2 == 0 { program.to_owned() } else { format!("{program}{i}") };
        writeln!(text, "    - {{ pattern: '{name} sub{i} --flag{i} *', approval: {approval} }}")
            .unwrap();
    }
    if count == 0 {
        text = "shell: { presets: [read_only] }\n".to_owned();
    }
    let path = Path::new("/p/zonekeep.yaml");
    let loaded = load(&text, "zonekeep.yaml", path, &Overrides::default());
    Grant::of(&loaded.policy.unwrap_or_else(|| panic!("{:#?}", loaded.problems)))
}
