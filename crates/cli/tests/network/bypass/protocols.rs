//! Anything but TCP, and the kernel's own ways.

use super::{Attack, said};

#[test]
fn datagrams_lead_nowhere() {
    let Some(attack) = Attack::new("datagrams", &["allowed.test", "*.allowed.test"]) else {
        return;
    };
    let control = attack.control();
    assert!(!control.stdout.contains("fault"), "{control}");
    let run = attack.confined();
    assert!(said(&run, "relay").iter().all(|line| *line != "granted"), "{run}");
    attack.unseen(&run);
}

#[test]
fn pings_and_raw_packets_lead_nowhere() {
    let Some(attack) = Attack::new("raw", &["allowed.test"]) else { return };
    let run = attack.confined();
    assert_eq!(said(&run, "family"), [""; 0], "{run}");
    for line in said(&run, "raw").into_iter().chain(said(&run, "ping")) {
        assert!(line.starts_with("fault"), "{line}: {run}");
    }
}

#[test]
fn the_sandbox_cannot_make_a_way_of_its_own() {
    let Some(attack) = Attack::new("ways", &["allowed.test"]) else { return };
    let run = attack.confined();
    for word in ["option", "fast open", "multipath", "change", "listen"] {
        for line in said(&run, word) {
            assert!(line.contains("fault") || line.ends_with("failed"), "{line}: {run}");
        }
    }
    attack.unseen(&run);
}
