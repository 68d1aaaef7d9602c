//! What is answered about a connection, and which line decided.

use super::*;
use crate::judge::Cause;
use crate::policy::Consent;

/// The list of these tests, one line each.
fn listed() -> Network {
    let at = |text: &str, number| Ruled::new(pattern(text), line(number));
    Network::Hosts(Hosts {
        allow: vec![
            at("example.org", 1),
            at("*.example.org", 2),
            at("git.example.test:22", 3),
            at("localhost:5432", 4),
            at("10.0.0.0/8", 5),
            at("169.254.169.254:80", 6),
            at("*.example.net", 10),
        ],
        ask: vec![at("*.example.net", 10)],
        deny: vec![
            at("telemetry.example.org", 20),
            at("telemetry.index.test:443", 21),
            at("10.9.0.0/16", 22),
        ],
        presets: vec![
            Ruled::new("python".to_owned(), line(30)),
            Ruled::new("go".to_owned(), line(31)),
        ],
    })
}

fn given() -> PresetHosts {
    presets(&[
        ("python", &["index.test", "*.index.test", "a.example.net"]),
        ("node", &["modules.test"]),
    ])
}

/// Returns the verdict, the rule and its line.
fn judged(host: &str, consent: Consent) -> String {
    let consent = Ruled::new(consent, line(40));
    let judgement = judge_connect(&listed(), &given(), &consent, &to(host));
    let word = match judgement.verdict {
        ConnectVerdict::Allow(permit) => {
            assert_eq!(permit.to(), &to(host));
            "allow"
        }
        ConnectVerdict::Ask(question) => {
            assert_eq!(question.to(), &to(host));
            assert_eq!(question.reasons, std::slice::from_ref(&judgement.rule.says));
            assert_eq!(question.approved().to(), &to(host));
            "ask"
        }
        ConnectVerdict::Deny(denial) => denial.code(),
    };
    let cause = judgement.rule.cause;
    assert!(matches!(cause, Cause::Network | Cause::Consent), "{cause:?}");
    let line = judgement.rule.at.file_line().map_or(0, |(_, line)| line);
    format!("{word} {} @{line}", judgement.rule.says)
}

#[test]
fn the_entry_that_decides_is_named() {
    let cases = [
        ("example.org", "allow sandbox.network.allow: example.org @1"),
        ("example.org:80", "allow sandbox.network.allow: example.org @1"),
        ("example.org:22", "host sandbox.network does not list it @0"),
        ("www.example.org", "allow sandbox.network.allow: *.example.org @2"),
        ("evilexample.org", "host sandbox.network does not list it @0"),
        ("git.example.test:22", "allow sandbox.network.allow: git.example.test:22 @3"),
        ("git.example.test", "host sandbox.network does not list it @0"),
        ("host.zonekeep:5432", "allow sandbox.network.allow: localhost:5432 @4"),
        ("127.0.0.1:5432", "host sandbox.network does not list it @0"),
        ("10.1.2.3", "allow sandbox.network.allow: 10.0.0.0/8 @5"),
        ("10.1.2.3:22", "host sandbox.network does not list it @0"),
        ("10.9.2.3", "host sandbox.network.deny: 10.9.0.0/16 @22"),
        ("10.9.2.3:22", "host sandbox.network.deny: 10.9.0.0/16 @22"),
        ("169.254.169.254:80", "allow sandbox.network.allow: 169.254.169.254:80 @6"),
        ("telemetry.example.org", "host sandbox.network.deny: telemetry.example.org @20"),
        ("telemetry.example.org:22", "host sandbox.network.deny: telemetry.example.org @20"),
        ("a.telemetry.example.org", "allow sandbox.network.allow: *.example.org @2"),
        ("index.test", "allow sandbox.network.presets: python @30"),
        ("telemetry.index.test", "host sandbox.network.deny: telemetry.index.test:443 @21"),
        ("telemetry.index.test:80", "allow sandbox.network.presets: python @30"),
        ("modules.test", "host sandbox.network does not list it @0"),
        ("b.example.net", "ask sandbox.network.ask: *.example.net @10"),
        // A preset does not take the question away.
        ("a.example.net", "ask sandbox.network.ask: *.example.net @10"),
        ("example.net", "host sandbox.network does not list it @0"),
    ];
    for (host, want) in cases {
        assert_eq!(judged(host, Consent::Tool), want, "{host}");
    }
}

#[test]
fn the_approval_mode_answers_questions_and_nothing_else() {
    let asked = "ask sandbox.network.ask: *.example.net @10";
    let cases = [
        (Consent::Tool, asked),
        (Consent::Manual, asked),
        (Consent::Auto, "allow approval.mode: auto @40"),
        (Consent::Strict, "declined approval.mode: strict @40"),
    ];
    for (consent, want) in cases {
        assert_eq!(judged("b.example.net", consent), want);
        let plain = "allow sandbox.network.allow: example.org @1";
        assert_eq!(judged("example.org", consent), plain);
        let refused = "host sandbox.network.deny: telemetry.example.org @20";
        assert_eq!(judged("telemetry.example.org", consent), refused);
    }
}

#[test]
fn refusals_say_why_and_what_would_work() {
    let why = |list: &str, host: &str, consent| {
        let judgement =
            judge_connect(&network(list), &given(), &Ruled::default_of(consent), &to(host));
        match judgement.verdict {
            ConnectVerdict::Deny(denial) => denial.to_string(),
            other => panic!("{other:?}"),
        }
    };
    let cases = [
        (
            "off",
            "a.test",
            "Cannot connect to 'a.test:443': there is no network here.\nAllowed hosts: none",
        ),
        (
            "b.test *.c.test:22 @python",
            "a.test:80",
            "Cannot connect to 'a.test:80': it is not an allowed host.\nAllowed hosts: *.c.test:22, \
             b.test, hosts of python",
        ),
        (
            "a.test:22 *.test",
            "a.test:25",
            "Cannot connect to 'a.test:25': only ports 22, 80 and 443 of it are allowed.\nAllowed \
             hosts: *.test, a.test:22",
        ),
        (
            "a.test:22",
            "a.test",
            "Cannot connect to 'a.test:443': only port 22 of it is allowed.\nAllowed hosts: \
             a.test:22",
        ),
        (
            "a.test b.test -a.test",
            "a.test",
            "Cannot connect to 'a.test:443': it is a refused host.\nAllowed hosts: b.test",
        ),
        (
            "a.test",
            "[fd00::5]:443",
            "Cannot connect to '[fd00::5]:443': it is not an allowed address.\nAllowed hosts: \
             a.test",
        ),
        (
            "a.test",
            "127.0.0.1:443",
            "Cannot connect to '127.0.0.1:443': it is this machine's own address, which is not \
             allowed.\nAllowed hosts: a.test",
        ),
        (
            "224.0.0.1",
            "224.0.0.1",
            "Cannot connect to '224.0.0.1:443': it is no address to connect to \
             (multicast).\nAllowed hosts: 224.0.0.1",
        ),
    ];
    for (list, host, want) in cases {
        assert_eq!(why(list, host, Consent::Tool), want, "{list} {host}");
    }
    let strict = why("?a.test", "a.test", Consent::Strict);
    assert!(strict.starts_with(
        "Cannot connect to 'a.test:443': it needs the user's approval, and questions are turned \
         off.\n"
    ));
}

#[test]
fn all_or_nothing_has_no_line_of_a_list() {
    let rule = |network: &Network| {
        let judgement = judge_connect(network, &given(), &Ruled::default(), &to("a.test:9"));
        let allowed = matches!(judgement.verdict, ConnectVerdict::Allow(_));
        (allowed, judgement.rule.says, judgement.rule.at)
    };
    assert_eq!(rule(&Network::On), (true, "sandbox.network: true".to_owned(), At::Default));
    assert_eq!(rule(&Network::Off), (false, "sandbox.network: false".to_owned(), At::Default));
}

#[test]
fn questions_about_addresses_are_for_every_form_of_them() {
    let asks = |list: &str, host: &str| {
        let judgement =
            judge_connect(&network(list), &PresetHosts::new(), &Ruled::default(), &to(host));
        matches!(judgement.verdict, ConnectVerdict::Ask(_))
    };
    assert!(asks("169.254.169.254 ?169.254.0.0/16", "169.254.169.254"));
    assert!(asks("127.0.0.1:8080 ?localhost:8080", "127.0.0.1:8080"));
    assert!(!asks("127.0.0.1:8080 ?localhost:9090", "127.0.0.1:8080"));
    assert!(asks("64:ff9b::/96 ?10.0.0.0/8", "64:ff9b::10.1.2.3"));
}

#[test]
fn names_are_resolved_that_lead_somewhere() {
    let cases = [
        ("on", "a.test", true),
        ("off", "a.test", false),
        ("a.test", "A.test.", true),
        ("a.test:22", "a.test", true),
        ("?a.test", "a.test", true),
        ("*.a.test", "x.y.a.test", true),
        ("*.a.test", "a.test", false),
        ("a.test -a.test", "a.test", false),
        ("a.test -a.test:443", "a.test", true),
        ("a.test:443 -a.test:443", "a.test", false),
        ("*.a.test -*.b.a.test", "x.b.a.test", false),
        ("@python", "index.test", true),
        ("@node", "index.test", false),
        ("@python -index.test", "index.test", false),
        ("localhost:5432", "host.zonekeep", true),
        ("10.1.2.3", "10.1.2.3", false),
        ("on", "10.1.2.3", false),
        ("on", "exa mple.test", false),
        ("on", "0x7f.1", false),
    ];
    for (list, name, want) in cases {
        assert_eq!(resolvable(&network(list), &given(), name), want, "{list} {name}");
    }
}

#[test]
fn what_may_be_reached_is_put_in_words() {
    let cases: [(&str, &[&str]); 6] = [
        ("on", &["every host"]),
        ("off", &[]),
        ("a.test *.b.test:22", &["a.test", "*.b.test:22"]),
        (
            "a.test ?b.test x.c.test ?*.c.test",
            &[
                "a.test",
                "b.test (after a question)",
                "x.c.test (after a question)",
                "*.c.test (after a question)",
            ],
        ),
        ("a.test b.test c.test:22 -a.test -b.test:22 -*.test:22", &["b.test"]),
        (
            "index.test @python @node -modules.test",
            &["index.test", "*.index.test", "a.example.net"],
        ),
    ];
    for (list, want) in cases {
        let got = allowed(&network(list), &given());
        assert_eq!(got, want, "{list}");
    }
    assert_eq!(network("a.test @python").shown(), ["a.test", "hosts of python"]);
}

#[test]
fn a_host_that_nobody_read_is_refused() {
    let list = network("*.a.test 10.0.0.0/8 -x.a.test");
    let hosts = [
        Host::Name("X.a.test".to_owned()),
        Host::Name("x.a.test.".to_owned()),
        Host::Name("b..a.test".to_owned()),
        Host::Name("10.1.2.3".to_owned()),
        Host::Name("host.zonekeep".to_owned()),
        Host::Address("::ffff:10.1.2.3".parse().unwrap()),
    ];
    for host in hosts {
        let to = Destination { host, port: 443 };
        let judgement = judge_connect(&list, &given(), &Ruled::default(), &to);
        let ConnectVerdict::Deny(denial) = judgement.verdict else { panic!("{to}") };
        assert!(denial.to_string().contains("it is not a host name"), "{denial}");
    }
}
