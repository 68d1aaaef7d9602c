//! A connection to one name that speaks of another.

use super::{Attack, said};

#[test]
fn tls_under_another_name_is_refused() {
    let allow = ["allowed.test", "www.allowed.test"];
    let Some(attack) = Attack::new("other_sni", &allow) else { return };
    attack.control();
    let ways = ["direct", "tunnel", "socks", "port 80"];
    attack.unanswered(&ways.map(|way| (way, 8)));
    attack.bench.recorded("denied.test");
}

#[test]
fn odd_hellos_are_refused_and_split_ones_are_not() {
    let Some(attack) = Attack::new("hellos", &["allowed.test"]) else { return };
    attack.control();
    let run = attack.unanswered(&[("direct", 15), ("tunnel", 15)]);
    for line in said(&run, "direct").into_iter().chain(said(&run, "tunnel")) {
        // A server would have answered with a record of its own.
        assert!(!line.contains("\\x16\\x03"), "{line}: {run}");
    }
    assert_eq!(said(&run, "split"), ["answered"; 2], "{run}");
    assert_eq!(said(&run, "records"), ["answered"], "{run}");
}

#[test]
fn requests_for_another_host_are_refused() {
    let allow = ["allowed.test", "www.allowed.test"];
    let Some(attack) = Attack::new("other_host", &allow) else { return };
    attack.control();
    let ways = ["direct", "port 443", "tunnel", "socks", "proxy"];
    attack.unanswered(&ways.map(|way| (way, 40)));
    attack.bench.recorded("denied.test");
}

/// At ports that are not for the web any protocol passes, but no request for
/// another host, whatever form of it some server might take.
#[test]
fn requests_in_disguise_are_refused_at_other_ports() {
    let allow = ["allowed.test", "allowed.test:9000"];
    let Some(attack) = Attack::new("opaque", &allow) else { return };
    attack.control();
    let run = attack.confined();
    let plain = said(&run, "plain");
    assert!(plain[0].contains("some other protocol") && plain[1].contains("abcdef"), "{run}");
    attack.unseen(&run);
}
