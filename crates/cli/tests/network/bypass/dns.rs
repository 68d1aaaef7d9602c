//! Names as a way out: questions to other servers, and questions that carry words.

use super::{Attack, said};

const ALL: [&str; 2] = ["allowed.test", "*.allowed.test"];

#[test]
fn other_name_servers_are_out_of_reach() {
    let Some(attack) = Attack::new("name_servers", &["allowed.test"]) else { return };
    let control = attack.control();
    assert_eq!(said(&control, "udp"), ["status 0, 1 answers"; 7], "{control}");
    assert_eq!(control.stdout.matches("answered").count(), 14, "{control}");
    let run = attack.confined();
    attack.unseen(&run);
}

/// The name server inside never asks anybody, not even for names that would be
/// allowed, however much can be said in them.
#[test]
fn questions_carry_nothing_out() {
    let Some(attack) = Attack::new("questions", &ALL) else { return };
    attack.control();
    let run = attack.confined();
    let answered = said(&run, "question");
    assert!(answered.iter().filter(|line| **line == "status 0, 1 answers").count() >= 300, "{run}");
    let lookups = said(&run, "lookup");
    assert!(lookups[0].starts_with("198.18.") && lookups[1].contains("gaierror"), "{run}");
    attack.unseen(&run);
}

/// Names are given addresses when they are first asked for, and there are only so
/// many of these; names on the list are found all the same.
#[test]
fn a_flood_of_names_does_not_end_the_service() {
    let Some(attack) = Attack::new("flood", &ALL) else { return };
    let run = attack.confined();
    let found: u32 = said(&run, "found")[0].parse().unwrap();
    assert!(found >= 1000, "{run}");
    attack.unseen(&run);
}

#[test]
fn odd_questions_do_no_harm() {
    let Some(attack) = Attack::new("odd_questions", &["allowed.test"]) else { return };
    let run = attack.confined();
    assert_eq!(said(&run, "stream"), ["answered"; 3], "{run}");
    assert_eq!(said(&run, "still"), ["status 0, 1 answers"], "{run}");
}
