//! How hosts and rules for them are read.

use super::*;

#[test]
fn rules_are_read_into_one_form() {
    let cases = [
        ("example.org", "example.org"),
        ("Example.ORG.", "example.org"),
        ("*.Example.org.", "*.example.org"),
        ("example.org.:8080", "example.org:8080"),
        ("*.example.org:1", "*.example.org:1"),
        ("a_b._tcp.example.org", "a_b._tcp.example.org"),
        ("r3---sn-x.example.org", "r3---sn-x.example.org"),
        ("intranet", "intranet"),
        ("*.internal", "*.internal"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER.example", "xn--bcher-kva.example"),
        ("xn--BCHER-kva.example", "xn--bcher-kva.example"),
        ("*.bücher.example:443", "*.xn--bcher-kva.example:443"),
        ("bücher。example", "xn--bcher-kva.example"),
        ("exa\u{ad}mple.org", "example.org"),
        ("ｅｘａｍｐｌｅ.org", "example.org"),
        ("localhost", "localhost"),
        ("LocalHost.:5432", "localhost:5432"),
        ("host.zonekeep:5432", "localhost:5432"),
        ("ｌｏｃａｌｈｏｓｔ", "localhost"),
        ("10.1.2.3", "10.1.2.3"),
        ("10.1.2.3:8080", "10.1.2.3:8080"),
        ("127.0.0.1.", "127.0.0.1"),
        ("fd00::5", "fd00::5"),
        ("FD00:0:0::5", "fd00::5"),
        ("[fd00::5]", "fd00::5"),
        ("[fd00::5]:443", "[fd00::5]:443"),
        ("::1", "::1"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("[::ffff:a01:203]:80", "10.1.2.3:80"),
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("10.0.0.0/8:5432", "10.0.0.0/8:5432"),
        ("10.1.2.3/32", "10.1.2.3"),
        ("fd00::/8", "fd00::/8"),
        ("[fd00::/8]:443", "[fd00::/8]:443"),
        ("fc00::/7", "fc00::/7"),
        ("fd00::5/128", "fd00::5"),
        ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
        ("127.0.0.1.example.org", "127.0.0.1.example.org"),
        ("4.example.org", "4.example.org"),
        ("1password.test", "1password.test"),
    ];
    for (text, want) in cases {
        let read = HostPattern::parse(text).map(|host| host.to_string());
        assert_eq!(read.as_deref(), Ok(want), "{text}");
        assert_eq!(pattern(want).to_string(), want);
    }
}

#[test]
fn each_mistake_in_a_rule_is_told_apart() {
    let long = format!("{}.test", "a".repeat(64));
    let deep = "a.".repeat(127) + "test";
    let cases = [
        ("", HostFault::Empty),
        ("  ", HostFault::Empty),
        (".", HostFault::Empty),
        (":443", HostFault::Empty),
        ("exa mple.org", HostFault::Blank),
        ("example.org ", HostFault::Blank),
        ("example.org\n", HostFault::Blank),
        ("exa\u{a0}mple.org", HostFault::Blank),
        ("exa\0mple.org", HostFault::Blank),
        ("*", HostFault::Everything),
        ("*.", HostFault::Everything),
        ("*:443", HostFault::Everything),
        ("https://example.org", HostFault::Url),
        ("https://example.org:443/x", HostFault::Url),
        ("example.org/x", HostFault::Path),
        ("example.org/", HostFault::Path),
        ("example.org:443/x", HostFault::Path),
        ("example.org?x", HostFault::Path),
        ("example.org#x", HostFault::Path),
        ("example\\org", HostFault::Path),
        ("[fd00::5]/x", HostFault::Path),
        ("me@example.org", HostFault::User),
        ("example.org@evil.test", HostFault::User),
        ("a.*.org", HostFault::Star),
        ("*.*.org", HostFault::Star),
        ("a*.example.org", HostFault::Star),
        ("*example.org", HostFault::Star),
        ("**.example.org", HostFault::Star),
        (".example.org", HostFault::LeadingDot),
        ("example.org:", HostFault::Port),
        ("example.org:0", HostFault::Port),
        ("example.org:080", HostFault::Port),
        ("example.org:65536", HostFault::Port),
        ("example.org:+80", HostFault::Port),
        ("example.org:https", HostFault::Port),
        ("[fd00::5]:x", HostFault::Port),
        ("127.1", HostFault::Numeric),
        ("0x7f.1", HostFault::Numeric),
        ("0X7F000001", HostFault::Numeric),
        ("2130706433", HostFault::Numeric),
        ("017700000001", HostFault::Numeric),
        ("127.0.0.01", HostFault::Numeric),
        ("127.0.0.256", HostFault::Numeric),
        ("127.0.0.1.2", HostFault::Numeric),
        ("127.0.0.0x1", HostFault::Numeric),
        ("example.0x", HostFault::Numeric),
        ("example.42", HostFault::Numeric),
        ("*.1.2.3.4", HostFault::Numeric),
        ("１２７.０.０.１", HostFault::Numeric),
        ("127。0。0。1", HostFault::Numeric),
        ("fd00::g", HostFault::Address),
        ("[fd00::5", HostFault::Address),
        ("[10.1.2.3]", HostFault::Address),
        ("[example.org]:443", HostFault::Address),
        ("[fd00::5]443", HostFault::Address),
        ("a:b:c", HostFault::Address),
        ("fe80::1%eth0", HostFault::Interface),
        ("[fe80::1%25eth0]:80", HostFault::Interface),
        ("0.0.0.0", HostFault::Unspecified),
        ("[::]:80", HostFault::Unspecified),
        ("::ffff:0.0.0.0", HostFault::Unspecified),
        ("10.0.0.0/33", HostFault::Bits),
        ("10.0.0.0/", HostFault::Bits),
        ("10.0.0.0/x", HostFault::Bits),
        ("10.0.0.0/+8", HostFault::Bits),
        ("fd00::/129", HostFault::Bits),
        ("0.0.0.0/0", HostFault::Wide),
        ("128.0.0.0/1", HostFault::Wide),
        ("::/0", HostFault::Wide),
        ("2000::/3", HostFault::Wide),
        ("2000::/15", HostFault::Wide),
        ("fc00::/6", HostFault::Wide),
        ("::ffff:0.0.0.0/96", HostFault::Wide),
        ("10.1.2.3/8", HostFault::Inside { range: "10.0.0.0/8".to_owned() }),
        ("fd00::5/8", HostFault::Inside { range: "fd00::/8".to_owned() }),
        ("127.0.0.0/8", HostFault::OwnMachine),
        ("*.localhost", HostFault::BelowLocal),
        ("*.host.zonekeep", HostFault::BelowLocal),
        ("*.zonekeep", HostFault::BelowLocal),
        ("*.a.localhost", HostFault::BelowLocal),
        ("xn--a.example", HostFault::Unicode),
        ("xn--localhost-", HostFault::Name),
        ("xn--localhost-.test", HostFault::Name),
        ("bü／cher.example", HostFault::Unicode),
        ("bü：80", HostFault::Unicode),
        ("\u{200d}.example", HostFault::Unicode),
        ("-a.example", HostFault::Name),
        ("a-.example", HostFault::Name),
        ("a..example", HostFault::Name),
        ("example.org..", HostFault::Name),
        ("exa%6dple.org", HostFault::Name),
        ("a,b", HostFault::Name),
        (&long, HostFault::Name),
        (&deep, HostFault::Name),
    ];
    for (text, want) in cases {
        assert_eq!(HostPattern::parse(text), Err(want), "{text}");
    }
}

#[test]
fn all_names_of_a_public_suffix_can_be_refused_and_not_allowed() {
    for name in ["com", "org", "co.uk", "xn--p1ai", "ck", "x.ck", "kawasaki.jp", "arpa"] {
        let text = format!("*.{name}");
        let fault = HostFault::PublicSuffix { suffix: name.to_owned() };
        assert_eq!(HostPattern::parse(&text), Err(fault), "{text}");
        assert_eq!(HostPattern::parse_denied(&text).unwrap().to_string(), text);
    }
    assert_eq!(pattern("com"), HostPattern { name: NamePattern::Exact("com".into()), port: None });
    for text in ["*.example.com", "*.example.co.uk", "*.internal", "*.city.kawasaki.jp"] {
        assert!(!pattern(text).is_shared(), "{text}");
    }
    assert!(pattern("*.github.io").is_shared());
    assert!(!pattern("*.a.github.io").is_shared());
    assert!(!pattern("github.io").is_shared());
}

#[test]
fn refused_ranges_may_be_as_wide_as_they_like() {
    for text in ["0.0.0.0/0", "::/0", "127.0.0.0/8", "2000::/3"] {
        assert_eq!(HostPattern::parse_denied(text).unwrap().to_string(), text);
    }
    assert_eq!(HostPattern::parse_denied("*"), Err(HostFault::Everything));
}

#[test]
fn hosts_are_read_as_they_are_sent() {
    let name = |name: &str| Ok(Host::Name(name.to_owned()));
    let address = |text: &str| Ok(Host::Address(text.parse().unwrap()));
    let cases = [
        ("example.org", name("example.org")),
        ("EXAMPLE.org.", name("example.org")),
        ("_dns.example.org", name("_dns.example.org")),
        ("XN--bcher-kva.example", name("xn--bcher-kva.example")),
        ("localhost.", name("localhost")),
        ("Host.Zonekeep", name("localhost")),
        ("a.localhost", name("a.localhost")),
        ("10.1.2.3", address("10.1.2.3")),
        ("10.1.2.3.", address("10.1.2.3")),
        ("::1", address("::1")),
        ("[::1]", address("::1")),
        ("[::ffff:127.0.0.1]", address("127.0.0.1")),
        ("::127.0.0.1", address("::7f00:1")),
        ("", Err(HostFault::Empty)),
        (".", Err(HostFault::Empty)),
        ("..", Err(HostFault::LeadingDot)),
        ("example..org", Err(HostFault::Name)),
        ("example.org..", Err(HostFault::Name)),
        ("bücher.example", Err(HostFault::NotAscii)),
        ("xn--a.example", Err(HostFault::Unicode)),
        ("exa mple.org", Err(HostFault::Blank)),
        ("example.org\r\n", Err(HostFault::Blank)),
        ("example.org\0.evil.test", Err(HostFault::Blank)),
        ("example.org:443", Err(HostFault::Address)),
        ("[::1", Err(HostFault::Address)),
        ("[::1].", Err(HostFault::Address)),
        ("[10.1.2.3]", Err(HostFault::Address)),
        ("fe80::1%lo", Err(HostFault::Interface)),
        ("*.example.org", Err(HostFault::Name)),
        ("user@example.org", Err(HostFault::Name)),
        ("127.1", Err(HostFault::Numeric)),
        ("0177.0.0.1", Err(HostFault::Numeric)),
        ("0x7f.0.0.1", Err(HostFault::Numeric)),
        ("0x7f000001", Err(HostFault::Numeric)),
        ("2130706433", Err(HostFault::Numeric)),
        ("1.2.3.4.5", Err(HostFault::Numeric)),
        ("%31.2.3.4", Err(HostFault::Numeric)),
    ];
    for (text, want) in cases {
        assert_eq!(Host::parse(text), want, "{text}");
    }
}

#[test]
fn destinations_are_read_with_and_without_a_port() {
    let cases = [
        ("example.org", "example.org:443"),
        ("example.org:22", "example.org:22"),
        ("[fd00::5]:22", "[fd00::5]:22"),
        ("[fd00::5]", "[fd00::5]:443"),
        ("fd00::5", "[fd00::5]:443"),
        ("10.1.2.3:8080", "10.1.2.3:8080"),
    ];
    for (text, want) in cases {
        assert_eq!(to(text).to_string(), want);
        assert_eq!(to(want).to_string(), want);
    }
    for text in ["example.org:", "example.org:0", "example.org:99999", ":443", "a:b:c", ""] {
        assert!(Destination::parse(text).is_err(), "{text}");
        assert!(Destination::parse_written(text).is_err(), "{text}");
    }
    let written = [
        ("münchen.example.org", Ok("xn--mnchen-3ya.example.org:443")),
        ("MÜNCHEN.example.org.:80", Ok("xn--mnchen-3ya.example.org:80")),
        ("example.org", Ok("example.org:443")),
        ("[2001:db8::1]:8080", Ok("[2001:db8::1]:8080")),
        ("１２７.0.0.1", Err(HostFault::Numeric)),
        ("a\u{a0}b.example.org", Err(HostFault::Unicode)),
    ];
    for (text, want) in written {
        let read = Destination::parse_written(text).map(|to| to.to_string());
        assert_eq!(read, want.map(str::to_owned), "{text}");
    }
    // What is sent is never anything but ASCII.
    assert_eq!(Destination::parse("münchen.example.org"), Err(HostFault::NotAscii));
}

#[test]
fn every_fault_has_its_words_and_a_way_out() {
    let range = || "10.0.0.0/8".to_owned();
    let faults = [
        HostFault::Empty,
        HostFault::Blank,
        HostFault::Everything,
        HostFault::PublicSuffix { suffix: "com".to_owned() },
        HostFault::Url,
        HostFault::Path,
        HostFault::User,
        HostFault::Star,
        HostFault::LeadingDot,
        HostFault::Port,
        HostFault::Numeric,
        HostFault::Address,
        HostFault::Interface,
        HostFault::Unspecified,
        HostFault::Bits,
        HostFault::Wide,
        HostFault::Inside { range: range() },
        HostFault::OwnMachine,
        HostFault::BelowLocal,
        HostFault::NotAscii,
        HostFault::Unicode,
        HostFault::Name,
    ];
    let words: std::collections::BTreeSet<_> = faults.iter().map(HostFault::to_string).collect();
    assert_eq!(words.len(), faults.len(), "each has words of its own");
    assert!(faults.iter().all(|fault| fault.hint().starts_with("write ")));
    assert_eq!(
        HostFault::Inside { range: range() }.hint(),
        "write 10.0.0.0/8 for the range, or the address alone"
    );
}

#[test]
fn names_that_look_alike_are_not_the_same() {
    let cases = [
        // rule, host, whether it is for it
        ("example.org", "example.org", true),
        ("example.org", "EXAMPLE.ORG.", true),
        ("example.org", "www.example.org", false),
        ("example.org", "evilexample.org", false),
        ("example.org", "example.org.evil.test", false),
        ("example.org", "xample.org", false),
        ("*.example.org", "a.example.org", true),
        ("*.example.org", "a.b.c.example.org", true),
        ("*.example.org", "example.org", false),
        ("*.example.org", "evilexample.org", false),
        ("*.example.org", "a.evilexample.org", false),
        ("*.example.org", "example.org.evil.test", false),
        ("*.example.org", "a.example.org.evil.test", false),
        ("*.example.org", "a-example.org", false),
        // Cyrillic а instead of a.
        ("example.org", "xn--exmple-4nf.org", false),
        ("*.example.org", "a.xn--exmple-4nf.org", false),
        ("bücher.example", "xn--bcher-kva.example", true),
        ("bücher.example", "bucher.example", false),
        ("*.bücher.example", "a.xn--bcher-kva.example", true),
        ("localhost", "host.zonekeep", true),
        ("host.zonekeep", "localhost.", true),
        ("localhost", "a.localhost", false),
        ("localhost", "127.0.0.1", false),
        ("10.1.2.3", "10.1.2.3", true),
        ("10.1.2.3", "::ffff:10.1.2.3", true),
        ("10.1.2.3", "10.1.2.3.example.org", false),
        ("10.0.0.0/8", "10.255.0.1", true),
        ("10.0.0.0/8", "11.0.0.1", false),
        ("10.0.0.0/8", "::10.0.0.1", false),
        ("fd00::/8", "fdff::1", true),
        ("fd00::/8", "fe00::1", false),
        ("169.254.0.0/16", "169.254.1.1", true),
        ("169.254.0.0/16", "169.254.169.254", false),
        ("169.254.169.254", "169.254.169.254", true),
    ];
    for (rule, host, want) in cases {
        let host = Host::parse(host).unwrap();
        assert_eq!(pattern(rule).name.matches(&host), want, "{rule} {host}");
    }
}

#[test]
fn rules_are_for_ports() {
    let cases = [
        ("example.org", 80, true),
        ("example.org", 443, true),
        ("example.org", 8443, false),
        ("example.org:22", 22, true),
        ("example.org:22", 443, false),
    ];
    for (rule, port, want) in cases {
        let to = Destination::new(Host::parse("example.org").unwrap(), port);
        assert_eq!(pattern(rule).allows(&to), want, "{rule} {port}");
    }
    let refuses =
        |rule: &str, host: &str| HostPattern::parse_denied(rule).unwrap().denies(&to(host));
    assert!(refuses("example.org", "example.org:22"));
    assert!(refuses("example.org:22", "example.org:22"));
    assert!(!refuses("example.org:22", "example.org"));
    assert!(is_web(80) && is_web(443) && !is_web(8080));
}

#[test]
fn refused_addresses_are_refused_in_every_form() {
    let cases = [
        ("203.0.113.7", "203.0.113.7", true),
        ("203.0.113.7", "::ffff:203.0.113.7", true),
        ("203.0.113.7", "64:ff9b::203.0.113.7", true),
        ("203.0.113.0/24", "64:ff9b::203.0.113.7", true),
        ("203.0.113.7", "2002:cb00:7107::1", true),
        ("203.0.113.7", "203.0.113.8", false),
        ("169.254.0.0/16", "169.254.169.254", true),
        ("127.0.0.0/8", "127.9.9.9", true),
        ("localhost", "127.0.0.1", true),
        ("localhost", "::1", true),
        ("localhost", "64:ff9b::127.0.0.1", true),
        ("localhost", "10.0.0.1", false),
        ("0.0.0.0/0", "10.0.0.1", true),
        ("0.0.0.0/0", "fd00::1", false),
        ("::/0", "fd00::1", true),
    ];
    for (rule, host, want) in cases {
        let host = Host::parse(host).unwrap();
        let rule = HostPattern::parse_denied(rule).unwrap();
        assert_eq!(rule.name.denies(&host), want, "{rule} {host}");
    }
}

#[test]
fn presets_have_one_name_each() {
    for name in PRESETS {
        assert_eq!(preset(name), Some(name));
    }
    for (alias, name) in ALIASES {
        assert_eq!(preset(alias), Some(name));
        assert!(PRESETS.contains(&name) && !PRESETS.contains(&alias));
    }
    for none in ["", "Python", "cargo ", "perl"] {
        assert_eq!(preset(none), None, "{none}");
    }
}
