//! Addresses instead of names, names that lead to addresses, and other ports.

use zonekeep_testkit::internet::Side;

use super::{Attack, Bench, all_work};

#[test]
fn addresses_in_any_notation_lead_nowhere() {
    let Some(attack) = Attack::new("literals", &["allowed.test", "*.allowed.test"]) else { return };
    let control = attack.control();
    let worked = control.stdout.matches("works").count();
    assert!(worked >= 10, "too few of these lead anywhere: {control}");
    let each = ["direct", "secure", "socks", "absolute", "host"].map(|way| (way, 28));
    attack.unanswered(&each);
    attack.bench.recorded("203.0.113.20");
}

/// Names on the list whose addresses nobody may reach.
const FORBIDDEN: [&str; 23] = [
    "private.test",
    "lan.test",
    "lan172.test",
    "cgnat.test",
    "linklocal.test",
    "meta.test",
    "meta6.test",
    "wire.test",
    "loop.test",
    "loop6.test",
    "zero.test",
    "zero6.test",
    "broadcast.test",
    "multicast.test",
    "bench.test",
    "ula.test",
    "mapped.test",
    "nat64.test",
    "sixtofour.test",
    "teredo.test",
    "sitelocal.test",
    "own.test",
    "own6.test",
];

#[test]
fn allowed_names_do_not_lead_to_private_addresses() {
    let allow: Vec<&str> = FORBIDDEN.into_iter().chain(["allowed.test"]).collect();
    let Some(attack) = Attack::new("forbidden", &allow) else { return };
    let control = attack.control();
    // The others lead to the machine itself, or to nobody.
    let worked = control.stdout.matches("works").count();
    assert!(worked >= 13, "too few of these lead anywhere: {control}");
    let ways = ["direct", "secure", "tunnel", "socks", "absolute"];
    attack.unanswered(&ways.map(|way| (way, FORBIDDEN.len())));
    for name in ["meta.test", "own.test", "loop6.test", "nat64.test"] {
        attack.bench.recorded(name);
    }
}

/// The private one is never dialled.
#[test]
fn a_private_address_among_public_ones_is_not_dialled() {
    let Some(attack) = Attack::new("mixed", &["mixed.test", "allowed.test"]) else { return };
    attack.control();
    attack.confined();
}

#[test]
fn a_name_that_changes_its_address_does_not_lead_inside() {
    let names = ["rebind.test", "rebound.test", "rebindlocal.test", "allowed.test"];
    let Some(attack) = Attack::new("rebinding", &names) else { return };
    let mark = attack.internet().mark();
    attack.control();
    let seen = attack.internet().since(mark);
    let inside = |to: &str| seen.iter().any(|one| attack.tells(one) && one.text("to") == to);
    assert!(inside("10.0.0.5") && inside("203.0.113.71"), "{seen:#?}");

    let run = attack.confined();
    assert!(run.stdout.contains("answer works"), "the public address is never reached: {run}");
    let host = attack.internet().all_of_host();
    let local = host.iter().find(|one| !one.beyond() && one.text("target") == "/public");
    assert!(local.is_none(), "the host itself was reached: {local:#?}");
}

/// A host may look for names in a domain of its own when they do not exist.
/// Whoever has that domain is not on the list.
#[test]
fn names_that_do_not_exist_are_not_looked_for_elsewhere() {
    let allow = ["missing.test", "*.empty.test", "hosts.test", "allowed.test"];
    let Some(attack) = Attack::new("searched", &allow) else { return };
    let control = attack.control();
    all_work(&control, "control", 1);
    let mark = attack.internet().mark();
    let run = attack.confined();
    assert!(!run.stdout.contains("hello from"), "{run}");
    all_work(&run, "file", 2);
    let seen = attack.internet().of_host(mark);
    let asked: Vec<&str> =
        seen.iter().filter(|one| one.kind() == "dns").map(|one| one.text("name")).collect();
    assert!(asked.contains(&"missing.test"), "{run}");
    assert!(asked.iter().all(|name| !name.ends_with("search.test")), "{asked:?}: {run}");
}

/// What the list names is reached, also where it is private.
#[test]
fn a_private_address_on_the_list_is_reached_and_its_neighbours_are_not() {
    let allow = ["10.9.9.9:8080", "allowed.test"];
    let Some(attack) = Attack::new("listed_address", &allow) else { return };
    attack.control();
    let run = attack.unanswered(&[("other", 12)]);
    all_work(&run, "listed", 3);
}

/// Asserts that services of the host answer, there.
#[track_caller]
fn host_serves(attack: &Attack) {
    let project = &attack.bench.project;
    for host in ["127.0.0.1", "[::1]", "192.0.2.2"] {
        let mut curl = attack.internet().command(Side::Host, project, "curl");
        let run = project.finish(curl.args(["-sS", &format!("http://{host}:8081/there")]));
        assert!(run.ok().contains("hello from"), "{run}");
    }
}

#[test]
fn services_of_the_host_are_out_of_reach() {
    let Some(attack) = Attack::new("local", &["allowed.test"]) else { return };
    host_serves(&attack);
    let ways = ["direct", "tunnel", "socks", "absolute"];
    attack.unanswered(&ways.map(|way| (way, 36)));
}

#[test]
fn a_listed_port_of_the_host_is_reached_and_others_are_not() {
    let allow = ["localhost:8081", "allowed.test"];
    let Some(attack) = Attack::new("listed_port", &allow) else { return };
    host_serves(&attack);
    let run = attack.unanswered(&[("other", 10)]);
    all_work(&run, "listed", 7);
}

#[test]
fn other_ports_of_an_allowed_name_are_refused() {
    let allow = ["allowed.test", "www.allowed.test:8080"];
    let Some(attack) = Attack::new("ports", &allow) else { return };
    attack.control();
    let ways = [("direct", 7), ("tunnel", 7), ("socks", 7), ("absolute", 7), ("odd", 13)];
    let run = attack.unanswered(&ways);
    all_work(&run, "listed", 2);
    attack.bench.recorded("allowed.test:8080");
}

#[test]
fn what_the_list_denies_is_refused_below_an_allowed_name() {
    let lines = "  network:\n    allow: [allowed.test, \"*.allowed.test\"]\n    \
                 deny: [www.allowed.test]\n";
    let Some(bench) = Bench::with(lines) else { return };
    let attack = Attack::on(bench, "below");
    attack.control();
    let run = attack.unanswered(&[("denied", 15)]);
    all_work(&run, "other", 1);
}
