//! The same on every way to confine a command.

use super::{Attack, all_work, said, skip};

#[track_caller]
fn holds(backend: &str) {
    let Some(attack) = Attack::new("backend", &["allowed.test"]) else { return };
    let bench = &attack.bench;
    let mut command = bench.zonekeep();
    // Without a tree of its own a command sees the host's paths.
    let work = bench.project.path("work");
    let script = format!("cd {} || cd /work; exec {}", work.display(), attack.line("bare"));
    command.args(["run", "--backend", backend, "--", "sh", "-c", &script]);
    let run = bench.project.finish(&mut command);
    if run.exit == 125 && run.stderr.contains("unavailable") {
        return skip(&format!("{backend}: {run}"));
    }
    all_work(&run, "good", 3);
    assert_eq!(said(&run, "bad").len(), 14, "{run}");
    assert!(!run.stdout.contains("hello from"), "{run}");
    for line in said(&run, "without a word") {
        assert!(line.starts_with("refused"), "{run}");
    }
    bench.nothing_denied();
    bench.recorded("denied.test");
}

#[test]
fn namespaces() {
    holds("namespaces");
}

#[test]
fn bubblewrap() {
    holds("bubblewrap");
}

#[test]
fn landlock() {
    holds("landlock");
}
