//! Names that look like others, and names with more in them than a name.

use super::{Attack, all_work, said};

#[test]
fn names_that_only_look_allowed_lead_nowhere() {
    let Some(attack) = Attack::new("alike", &["allowed.test"]) else { return };
    attack.control();
    let run = attack.unanswered(&[("direct", 64), ("tunnel", 64), ("socks", 64)]);
    for way in ["absolute", "host"] {
        assert!(said(&run, way).iter().all(|line| !line.contains("hello from")), "{run}");
    }
    attack.bench.recorded("denied.test");
}

#[test]
fn spellings_of_an_allowed_name_are_that_name() {
    let allow = ["allowed.test", "bücher.test"];
    let Some(attack) = Attack::new("spellings", &allow) else { return };
    let run = attack.confined();
    all_work(&run, "spelled", 17);
}

/// `*.` means names below, and not the name itself.
#[test]
fn names_below_are_not_the_name_itself() {
    let Some(attack) = Attack::new("itself", &["*.allowed.test"]) else { return };
    attack.control();
    let run = attack.bench.confined(&attack.line("bare")).run;
    assert_eq!(said(&run, "itself").len(), 4, "{run}");
    assert!(!run.stdout.contains("hello from"), "{run}");
    all_work(&run, "below", 4);
    attack.unseen(&run);
}
