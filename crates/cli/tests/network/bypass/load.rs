//! Many connections, slow ones, ones that never say anything, and limits.

use super::{Attack, Bench, said};

#[test]
fn ten_thousand_connections_do_no_harm() {
    let Some(attack) = Attack::new("many", &["allowed.test"]) else { return };
    let run = attack.confined();
    assert_eq!(said(&run, "failed"), [""; 0], "{run}");
    assert_eq!(said(&run, "done"), ["9600"], "{run}");
}

/// Connections that say half of something hold nobody else up, and are ended.
#[test]
fn slow_connections_are_ended_and_hold_nobody_up() {
    let Some(attack) = Attack::new("slow", &["allowed.test"]) else { return };
    let run = attack.confined();
    assert_eq!(said(&run, "held"), ["360"], "{run}");
    assert_eq!(said(&run, "meanwhile"), ["works"; 2], "{run}");
    assert!(said(&run, "took")[0].parse::<u32>().unwrap() < 5, "{run}");
    assert_eq!(said(&run, "open"), ["[]"], "{run}");
    assert_eq!(said(&run, "patient"), ["works"; 2], "{run}");
}

/// What a command makes the program outside keep is not counted as the command's
/// own memory, so there has to be an end to it.
#[test]
fn what_is_not_finished_does_not_fill_memory() {
    let Some(attack) = Attack::new("memory", &["allowed.test"]) else { return };
    let (run, most) = attack.memory();
    assert!(run.stdout.contains("legit direct works"), "{run}");
    assert!(most < 200, "{most} MiB: {run}");
}

#[test]
fn half_closed_connections_are_served_to_the_end() {
    let Some(attack) = Attack::new("half", &["allowed.test", "allowed.test:9000"]) else { return };
    let run = attack.confined();
    let lines = said(&run, "half");
    assert!(lines.iter().all(|line| line.ends_with("0123456789")), "{run}");
}

#[test]
fn limits_hold() {
    let lines = "  network: { allow: [allowed.test, \"allowed.test:9000\"] }\n  \
                 limits: { connections: 5, network_out: 100K, network_in: 1M }\n";
    let Some(bench) = Bench::with(lines) else { return };
    let attack = Attack::on(bench, "limits");
    let go = |what: &str| attack.bench.confined(&format!("{} {what}", attack.line("bare"))).run;

    let run = go("connections");
    assert_eq!(said(&run, "get").iter().filter(|line| **line == "works").count(), 5, "{run}");

    let mark = attack.internet().mark();
    let run = go("out");
    let seen = attack.internet().of_host(mark);
    let out = seen.iter().filter(|one| one.kind() == "raw" && one.text("data").starts_with('\0'));
    let out: usize = out.map(|one| one.text("data").chars().count()).sum();
    assert!((1..=110_000).contains(&out), "{out}: {run}");

    let run = go("into");
    let came: usize = said(&run, "in")[0].parse().unwrap();
    assert!((1..=1_100_000).contains(&came), "{run}");
    attack.bench.recorded("allowed.test");
}
