use zonekeep_policy::hosts::Hosts;
use zonekeep_policy::source::Ruled;

use super::*;

fn network(allow: &[&str], deny: &[&str], preset: bool) -> Network {
    let read = |texts: &[&str]| {
        let pattern = |text: &&str| Ruled::default_of(HostPattern::parse(text).unwrap());
        texts.iter().map(pattern).collect::<Vec<_>>()
    };
    let presets = if preset { vec![Ruled::default_of("rust".to_owned())] } else { vec![] };
    Network::Hosts(Hosts { allow: read(allow), ask: vec![], deny: read(deny), presets })
}

/// Returns the sockets beside those of every layout, and the routes beside the range.
fn shown(layout: &Layout) -> String {
    let fixed = [
        ("127.0.0.1:53".parse().unwrap(), true),
        ("127.0.0.1:53".parse().unwrap(), false),
        (SocketAddr::from((Ipv4Addr::LOCALHOST, layout.proxy)), false),
    ];
    assert_eq!(layout.sockets[..3], fixed);
    assert_eq!(layout.routes[0], (RANGE.0.into(), 15));
    let mut words: Vec<String> = layout.sockets[3..].iter().map(|(at, _)| at.to_string()).collect();
    words.extend(layout.routes[1..].iter().map(|(ip, bits)| format!("{ip}/{bits}")));
    words.join(" ")
}

#[test]
fn each_list_has_its_sockets_and_routes() {
    let cases: [(&[&str], &str); 15] = [
        // allowed, sockets and routes
        (&[], ""),
        (&["a.org"], "0.0.0.0:80 0.0.0.0:443"),
        (&["a.org", "b.org", "*.c.org"], "0.0.0.0:80 0.0.0.0:443"),
        (&["a.org:22"], "0.0.0.0:22"),
        (&["a.org:8080"], "198.18.0.2:8080"),
        (&["a.org:8080", "b.org:8080", "a.org:8080"], "198.18.0.2:8080 198.18.0.3:8080"),
        (&["a.org:8080", "*.a.org:8080"], "0.0.0.0:8080"),
        (&["localhost:5432"], "127.0.0.1:5432 198.18.0.1:5432 [::1]:5432"),
        (&["host.zonekeep:5432", "*.a.org:5432"], "0.0.0.0:5432 [::1]:5432"),
        (&["localhost:80"], "0.0.0.0:80 [::1]:80"),
        (&["10.1.2.3:8080"], "10.1.2.3:8080 10.1.2.3/32"),
        (&["10.1.2.3:22", "10.1.2.3:23"], "0.0.0.0:22 0.0.0.0:23 10.1.2.3/32"),
        (&["[fd00::5]:443", "127.0.0.2:9000"], "[fd00::5]:443 127.0.0.2:9000 fd00::5/128"),
        (&["10.0.0.0/8"], ""),
        // The resolver's port is never taken as a whole, the proxy gives way.
        (&["a.org:53", "localhost:53", "*.a.org:53"], "198.18.0.1:53 198.18.0.2:53 [::1]:53"),
    ];
    for (allow, want) in cases {
        let layout = Layout::of(&network(allow, &[], false), &PresetHosts::new());
        assert_eq!(shown(&layout), want, "{allow:?}");
        assert_eq!(layout.proxy, 3128, "{allow:?}");
    }
}

#[test]
fn the_proxy_gives_way_to_a_listed_port() {
    let list = network(&["a.org:3128", "localhost:3129"], &[], false);
    let layout = Layout::of(&list, &PresetHosts::new());
    assert_eq!(layout.proxy, 3130);
    assert!(layout.sockets.contains(&("198.18.0.2:3128".parse().unwrap(), false)));
    assert!(layout.sockets.contains(&("127.0.0.1:3129".parse().unwrap(), false)));
}

#[test]
fn hosts_of_a_preset_count_only_where_it_is_named() {
    let pattern = HostPattern::parse("crates.test:8443").unwrap();
    let presets = PresetHosts::from([("rust".to_owned(), vec![pattern])]);
    assert_eq!(shown(&Layout::of(&network(&[], &[], true), &presets)), "198.18.0.2:8443");
    assert_eq!(shown(&Layout::of(&network(&[], &[], false), &presets)), "");
    assert_eq!(shown(&Layout::of(&network(&[], &[], true), &PresetHosts::new())), "");
}

#[test]
fn many_names_share_the_port() {
    let names: Vec<String> = (0..=EACH).map(|n| format!("n{n}.org:8080")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let shown = |names: &[&str]| {
        shown(&Layout::of(&network(names, &[], false), &PresetHosts::new())).split(' ').count()
    };
    assert_eq!((shown(&names[..EACH]), shown(&names)), (EACH, 1));
}

#[test]
fn sockets_are_each_there_once_and_never_in_each_others_way() {
    let allow = ["a.org", "localhost", "*.a.org:53", "10.0.0.1", "127.0.0.1", "127.0.0.1:53"];
    let layout = Layout::of(&network(&allow, &[], false), &PresetHosts::new());
    let tcp: Vec<SocketAddr> =
        layout.sockets.iter().filter(|(_, udp)| !udp).map(|(at, _)| *at).collect();
    for (index, at) in tcp.iter().enumerate() {
        for other in &tcp[index + 1..] {
            let same = at.port() == other.port() && at.is_ipv4() == other.is_ipv4();
            let clash = at.ip() == other.ip() || at.ip().is_unspecified();
            assert!(!(same && (clash || other.ip().is_unspecified())), "{at} and {other}");
        }
    }
}

#[test]
fn an_address_tells_who_is_meant() {
    let allow =
        ["a.org", "b.org:8080", "*.c.org", "localhost:5432", "10.1.2.3:8080", "127.0.0.1:9"];
    let list = network(&allow, &["b.org"], false);
    let mut names = Names::of(&Layout::of(&list, &PresetHosts::new()));
    let at = |names: &mut Names, name| names.address(name).map(|ip| ip.to_string());
    assert_eq!(at(&mut names, "localhost").as_deref(), Some("198.18.0.1"));
    assert_eq!(at(&mut names, "a.org").as_deref(), Some("198.18.0.2"));
    assert_eq!(at(&mut names, "x.c.org").as_deref(), Some("198.18.0.3"));
    assert_eq!(at(&mut names, "y.c.org").as_deref(), Some("198.18.0.4"));
    assert_eq!(at(&mut names, "x.c.org").as_deref(), Some("198.18.0.3"));
    let cases = [
        ("198.18.0.0:80", None),
        ("198.18.0.1:80", Some("localhost")),
        ("198.18.0.2:80", Some("a.org")),
        ("198.18.0.4:80", Some("y.c.org")),
        ("198.18.0.5:80", None),
        ("198.19.255.255:80", None),
        ("198.20.0.2:80", None),
        ("127.0.0.1:5432", Some("localhost")),
        ("[::1]:5432", Some("localhost")),
        ("[::ffff:127.0.0.1]:5432", Some("localhost")),
        ("127.0.0.1:80", None),
        ("127.0.0.2:5432", None),
        ("127.0.0.1:9", Some("127.0.0.1")),
        ("10.1.2.3:8080", Some("10.1.2.3")),
        ("10.1.2.3:80", None),
        ("10.1.2.4:8080", None),
    ];
    for (at, who) in cases {
        let found = names.who(at.parse().unwrap()).map(|host| host.to_string());
        assert_eq!(found.as_deref(), who, "{at}");
    }
}

#[test]
fn names_that_come_to_be_asked_for_are_limited() {
    let list = network(&["a.org", "*.b.org"], &[], false);
    let mut names = Names::of(&Layout::of(&list, &PresetHosts::new()));
    for n in 0..GUESTS {
        assert!(names.address(&format!("n{n}.b.org")).is_some(), "{n}");
    }
    assert_eq!(names.address("more.b.org"), None);
    assert!(names.address("n7.b.org").is_some() && names.address("a.org").is_some());

    // A place that nobody remembers is given away, those of the list never.
    let later = Instant::now() + FORGOTTEN;
    names.address_at("n0.b.org", later);
    let given = names.address_at("more.b.org", later).unwrap();
    assert_eq!(given, address_of(2).unwrap(), "that of n1.b.org");
    let who = |names: &mut Names, ip: Ipv4Addr| names.who((ip, 80).into()).unwrap().to_string();
    assert_eq!(who(&mut names, given), "more.b.org");
    assert_eq!(who(&mut names, address_of(0).unwrap()), "a.org");
    assert_ne!(names.address_at("n1.b.org", later), Some(given));
}
