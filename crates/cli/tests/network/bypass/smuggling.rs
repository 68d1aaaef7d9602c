//! One request that is two, two in a row, and ones that come too early.

use super::Attack;

#[test]
fn requests_within_requests_do_not_arrive() {
    let Some(attack) = Attack::new("smuggling", &["allowed.test"]) else { return };
    attack.control();
    let run = attack.confined();
    attack.unseen(&run);
}

#[test]
fn requests_in_a_row_are_judged_one_by_one() {
    let allow = ["allowed.test", "www.allowed.test"];
    let Some(attack) = Attack::new("row", &allow) else { return };
    attack.control();
    let run = attack.confined();
    assert!(run.stdout.contains("slowly works works"), "{run}");
    attack.unseen(&run);
    attack.bench.recorded("denied.test");
}

#[test]
fn what_comes_before_a_yes_is_judged_too() {
    let Some(attack) = Attack::new("early", &["allowed.test"]) else { return };
    attack.control();
    attack.unanswered(&[("early", 14), ("nobody", 21)]);
}
