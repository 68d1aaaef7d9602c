//! The made-up Internet is what it says.

use super::*;

#[test]
fn every_address_answers_the_control_and_what_arrives_is_written_down() {
    let Some(internet) = Internet::shared() else { return };
    let project = Project::new("/bin/true");
    let mark = internet.mark();
    for side in [Side::Control, Side::Host] {
        for url in [
            "http://allowed.test/",
            "http://203.0.113.20/",
            "http://10.0.0.5/",
            "http://169.254.169.254/",
            "http://[fd00::5]/",
            "http://198.51.100.7:8080/",
            "https://allowed.test/",
            "https://denied.test/",
        ] {
            let mut curl = internet.command(side, &project, "curl");
            curl.args(["-sS", "--cacert"]).arg(internet.certificates()).arg(url);
            let run = project.finish(&mut curl);
            assert!(run.ok().starts_with("hello from"), "{url}: {run}");
        }
    }
    let seen = internet.of_host(mark);
    let at =
        |kind: &str, to: &str| seen.iter().any(|one| one.kind() == kind && one.text("to") == to);
    for kind in ["packet", "tcp", "raw", "http"] {
        assert!(at(kind, "10.0.0.5"), "no {kind}: {seen:#?}");
    }
    assert!(seen.iter().any(|one| one.kind() == "tls" && one.text("sni") == "denied.test"));
    assert!(seen.iter().any(|one| one.kind() == "dns" && one.text("name") == "denied.test"));
    assert!(!internet.ever_denied().is_empty());
    for service in [Service::Ssh, Service::Postgres, Service::Redis, Service::Http2] {
        internet.start(service).unwrap();
    }
    assert_eq!(internet.complaints(), "");
}
