//! Other protocols inside HTTP, and answers that lead elsewhere.

use zonekeep_testkit::internet::Service;

use super::{Attack, NO_PROXY, said, skip};

#[test]
fn websockets_work() {
    let Some(attack) = Attack::new("websocket", &["allowed.test"]) else { return };
    let run = attack.confined();
    let lines = said(&run, "talk");
    assert_eq!(lines.len(), 4, "{run}");
    assert!(lines.iter().all(|line| line.contains("first") && line.contains("second")), "{run}");
}

/// After a question for an upgrade that the server did not grant, requests are
/// still requests.
#[test]
fn an_upgrade_that_was_not_granted_opens_nothing() {
    let Some(attack) = Attack::new("fake_upgrade", &["allowed.test"]) else { return };
    attack.control();
    let run = attack.confined();
    assert_eq!(said(&run, "later").len(), 16, "{run}");
    attack.unseen(&run);
}

#[test]
fn http2_without_tls_is_refused() {
    let Some(attack) = Attack::new("http2", &["allowed.test", "h2.test:8082"]) else { return };
    if let Err(why) = attack.internet().start(Service::Http2) {
        return skip(&why);
    }
    attack.control();
    attack.unanswered(&[("prior", 12)]);
}

/// Where a server of the list sends a client on to, each by both protocols.
const ELSEWHERE: &str = "
for to in http://denied.test https://denied.test http://203.0.113.20 http://10.0.0.5 \
          http://169.254.169.254 http://allowed.test:8080 http://localhost:8081; do
    for from in http https; do
        curl -sSfL --max-time 5 \"$from://allowed.test/redirect?to=$to/$TOKEN\" || echo failed
    done
done
";

#[test]
fn answers_that_lead_elsewhere_are_judged_again() {
    let Some(attack) = Attack::new("half", &["allowed.test"]) else { return };
    let script = format!("TOKEN={}{ELSEWHERE}", attack.token);
    let control = attack.bench.control(&script).run;
    // The second host offers nothing on its own loopback.
    assert_eq!(control.stdout.matches("hello from").count(), 12, "{control}");
    for way in ["", NO_PROXY] {
        let run = attack.bench.confined(&format!("{way}{script}")).run;
        assert_eq!(run.stdout.trim(), ["failed"; 14].join("\n"), "{run}");
    }
    let all = attack.internet().all_of_host();
    let path = format!("/{}", attack.token);
    let there = all.iter().find(|one| one.kind() == "http" && one.text("target") == path);
    assert!(there.is_none(), "{there:#?}");
    attack.bench.nothing_denied();
    attack.bench.recorded("denied.test");
}
