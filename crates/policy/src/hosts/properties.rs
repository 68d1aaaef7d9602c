//! What holds for every list and every destination.

mod generate;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::tests::presets;
use super::*;
use crate::policy::Consent;
use generate::{
    ADDRESSES, CONSENTS, NAMES, PORTS, denied, destination, host_pattern, hosts, network, numeric,
    pick, request, special_bits, text, wanted,
};

fn given() -> PresetHosts {
    presets(&[("python", &["index.test", "10.1.0.0/16"]), ("go", &["*.s.test:443"])])
}

/// Returns the rank of a verdict, and the permit where there is one.
fn judged(network: &Network, consent: Consent, to: &Destination) -> (u8, Option<ConnectPermit>) {
    match judge_connect(network, &given(), &Ruled::default_of(consent), to).verdict {
        ConnectVerdict::Allow(permit) => (0, Some(permit)),
        ConnectVerdict::Ask(question) => (1, Some(question.approved())),
        ConnectVerdict::Deny(_) => (2, None),
    }
}

/// Fails where one network gives more than another.
fn within(less: &Network, more: &Network, to: &Destination) -> Result<(), TestCaseError> {
    for consent in CONSENTS {
        let (own, theirs) = (judged(less, consent, to), judged(more, consent, to));
        prop_assert!(own.0 >= theirs.0, "{to}: {} instead of {}", own.0, theirs.0);
        let (Some(own), Some(theirs)) = (own.1, theirs.1) else { continue };
        for ip in ADDRESSES.map(|ip| ip.parse().unwrap()) {
            let (own, theirs) = (own.may_dial(ip), theirs.may_dial(ip));
            prop_assert!(own.is_err() || theirs.is_ok(), "{to} leads to {ip}: {theirs:?}");
        }
    }
    let leads = |network: &Network| match &to.host {
        Host::Name(name) => resolvable(network, &given(), name),
        Host::Address(_) => false,
    };
    prop_assert!(!leads(less) || leads(more), "{to} is resolved");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn no_chain_of_workers_reaches_more_than_its_start(
        start in network(),
        chain in vec(wanted(), 1..4),
        to in vec(destination(), 1..8),
    ) {
        let mut above = vec![start];
        for wanted in chain {
            let held = above.last().unwrap();
            let wanted = request(held, wanted);
            let Ok(child) = narrow(held, &wanted) else { continue };
            for to in &to {
                for above in above.iter().chain([&wanted]) {
                    within(&child, above, to)?;
                }
            }
            above.push(child);
        }
    }

    #[test]
    fn names_are_judged_as_their_text_reads(hosts in hosts(), to in destination()) {
        if let Host::Name(name) = &to.host {
            let for_name = |pattern: &HostPattern| match pattern.name.to_string().strip_prefix('*') {
                Some(below) => name.ends_with(below),
                None => *name == pattern.name.to_string(),
            };
            let for_port = |pattern: &HostPattern| match pattern.port {
                Some(port) => port == to.port,
                None => to.port == 80 || to.port == 443,
            };
            let given = given();
            let by_preset = |preset: &Ruled<String>| {
                given[&preset.value].iter().any(|host| for_name(host) && for_port(host))
            };
            let is_for = |host: &Ruled<HostPattern>| for_name(&host.value) && for_port(&host.value);
            let refuses = |host: &Ruled<HostPattern>| {
                for_name(&host.value) && (host.value.port.is_none() || for_port(&host.value))
            };
            let open = hosts.allow.iter().any(is_for) || hosts.presets.iter().any(by_preset);
            let want = match () {
                () if !open || hosts.deny.iter().any(refuses) => 2,
                () if hosts.ask.iter().any(is_for) => 1,
                () => 0,
            };
            prop_assert_eq!(judged(&Network::Hosts(hosts), Consent::Tool, &to).0, want);
        }
    }

    #[test]
    fn what_is_within_a_list_is_granted(held in hosts(), wanted in wanted()) {
        let held = Network::Hosts(held);
        if let Network::Hosts(hosts) = request(&held, wanted) {
            let Network::Hosts(list) = &held else { unreachable!() };
            let fits = hosts.allow.iter().all(|host| list.covers(&host.value));
            let sets = hosts.presets.iter().all(|p| list.presets.iter().any(|q| p.value == q.value));
            prop_assert_eq!(narrow(&held, &Network::Hosts(hosts)).is_ok(), fits && sets);
        }
    }

    #[test]
    fn a_pattern_covers_no_more_than_it_matches(
        a in host_pattern(),
        b in host_pattern(),
        to in destination(),
    ) {
        if a.name.covers(&b.name) && b.name.matches(&to.host) {
            prop_assert!(a.name.matches(&to.host), "{a} {b} {to}");
        }
        prop_assert!(a.name.covers(&a.name), "{a}");
        // Whoever refuses does so at least where they would allow.
        prop_assert!(!a.allows(&to) || (a.asks(&to) && a.denies(&to)), "{a} {to}");
    }

    #[test]
    fn what_is_refused_is_refused_whatever_else_is_said(
        hosts in hosts(),
        denied in denied(),
        to in destination(),
    ) {
        let mut hosts = hosts;
        hosts.deny.push(Ruled::default_of(denied.clone()));
        let own = match to.host.clone() {
            Host::Name(name) => NamePattern::Exact(name),
            Host::Address(address) => NamePattern::Address(address),
        };
        let own = HostPattern { name: own, port: Some(to.port) };
        hosts.allow.push(Ruled::default_of(own.clone()));
        let network = Network::Hosts(hosts.clone());
        for consent in CONSENTS {
            let (rank, permit) = judged(&network, consent, &to);
            prop_assert!(!denied.denies(&to) || rank == 2, "{denied} {to}");
            for ip in ADDRESSES.map(|ip| ip.parse().unwrap()) {
                let lead = Destination { host: Host::Address(ip), port: to.port };
                let dial = permit.as_ref().map(|permit| permit.may_dial(ip));
                prop_assert!(!denied.denies(&lead) || dial != Some(Ok(())), "{denied} {to} {ip}");
            }
        }
        hosts.deny.push(Ruled::default_of(own));
        prop_assert_eq!(judged(&Network::Hosts(hosts), Consent::Auto, &to).0, 2);
    }

    #[test]
    fn a_call_chooses_no_more_than_is_held(
        held in network(),
        domains in prop::option::of(vec(host_pattern(), 0..4)),
        picks in vec(pick(), 0..3),
        managers in prop::option::of(vec(select(vec!["pip".to_owned(), "go".to_owned()]), 0..2)),
        to in destination(),
    ) {
        let domains = domains.map(|domains| {
            let list = Hosts {
                allow: domains.into_iter().map(Ruled::default_of).collect(),
                ..Hosts::default()
            };
            match request(&held, (Network::Hosts(list), picks)) {
                Network::Hosts(hosts) => hosts.allow,
                _ => Vec::new(),
            }
        });
        let given: Option<Vec<String>> = domains
            .as_ref()
            .map(|domains| domains.iter().map(|domain| domain.value.to_string()).collect());
        let Ok(chosen) = held.chosen(given.as_deref(), managers.as_deref()) else { return Ok(()) };
        within(&chosen, &held, &to)?;
        if let Some(domains) = domains {
            let named = domains.iter().any(|domain| domain.value.allows(&to));
            let by_preset = managers.is_some_and(|managers| !managers.is_empty());
            let reached = judged(&chosen, Consent::Auto, &to).0 < 2;
            prop_assert!(!reached || named || by_preset, "{to} was not chosen");
        }
    }

    #[test]
    fn two_rules_together_refuse_what_either_does(
        a in network(),
        b in network(),
        to in destination(),
    ) {
        let both = meet(&a, &b);
        within(&both, &a, &to)?;
        within(&both, &b, &to)?;
        let either = join(&a, &b);
        let lists = [&a, &b].map(|network| match network {
            Network::Hosts(hosts) => Some(hosts),
            _ => None,
        });
        for hosts in lists.into_iter().flatten().filter(|_| either != Network::On) {
            let refused = hosts.deny.iter().any(|denied| denied.value.denies(&to));
            prop_assert!(!refused || judged(&either, Consent::Auto, &to).0 == 2);
            let asked = hosts.ask.iter().any(|asked| asked.value.asks(&to));
            prop_assert!(!asked || judged(&either, Consent::Tool, &to).0 >= 1);
        }
        // What is bounded stays bounded.
        let bounded = without(a.clone(), &Bounds::of(&b));
        within(&bounded, &a, &to)?;
    }

    #[test]
    fn names_are_resolved_that_some_port_of_is_not_refused(hosts in hosts(), name in select(NAMES.to_vec())) {
        let network = Network::Hosts(hosts);
        let host = Host::parse(name).unwrap();
        let reached = PORTS.into_iter().any(|port| {
            judged(&network, Consent::Tool, &Destination { host: host.clone(), port }).0 < 2
        });
        prop_assert_eq!(resolvable(&network, &given(), name), reached);
    }

    #[test]
    fn spellings_of_one_name_are_judged_alike(
        network in network(),
        index in 0..NAMES.len(),
        upper in vec(prop::bool::ANY, 32),
        dot in prop::bool::ANY,
        port in select(PORTS.to_vec()),
    ) {
        let plain = NAMES[index];
        let mut letters = upper.into_iter().cycle();
        let mut text: String = plain
            .chars()
            .map(|c| if letters.next().unwrap() { c.to_ascii_uppercase() } else { c })
            .collect();
        if dot {
            text.push('.');
        }
        let host = Host::parse(&text);
        prop_assert_eq!(&host, &Host::parse(plain));
        let (to, same) = (host.unwrap(), Host::parse(plain).unwrap());
        for consent in CONSENTS {
            let rank = |host: &Host| {
                judged(&network, consent, &Destination { host: host.clone(), port }).0
            };
            prop_assert_eq!(rank(&to), rank(&same));
        }
        // Rules in the script of the name are the same rules.
        let script = text.to_lowercase().replace("xn--bcher-kva", "bÜcher");
        prop_assert_eq!(HostPattern::parse(&script), HostPattern::parse(plain));
        let below = HostPattern::parse(&format!("*.{script}"));
        prop_assert_eq!(below, HostPattern::parse(&format!("*.{plain}")));
    }

    #[test]
    fn rules_are_read_as_they_are_shown(host in host_pattern(), denied in denied()) {
        prop_assert_eq!(HostPattern::parse_denied(&denied.to_string()), Ok(denied));
        prop_assert_eq!(HostPattern::parse_denied(&host.to_string()), Ok(host));
    }

    #[test]
    fn any_text_is_read_into_its_one_form_or_refused(text in text()) {
        for parse in [HostPattern::parse, HostPattern::parse_denied] {
            if let Ok(host) = parse(&text) {
                prop_assert!(host.to_string().is_ascii());
                prop_assert_eq!(parse(&host.to_string()), Ok(host.clone()), "{}", text);
                prop_assert_eq!(HostPattern::parse_denied(&text), Ok(host));
            }
        }
        if let Ok(host) = Host::parse(&text) {
            prop_assert_eq!(Host::parse(&host.to_string()), Ok(host));
        }
        if let Ok(to) = Destination::parse(&text) {
            prop_assert_eq!(Destination::parse(&to.to_string()), Ok(to));
        }
    }

    #[test]
    fn no_number_is_ever_a_name(text in numeric()) {
        let host = Host::parse(&text);
        prop_assert!(!matches!(host, Ok(Host::Name(_))), "{text}: {host:?}");
        // What a resolver takes for an address is that address, or nothing.
        let address = numbers(text.strip_suffix('.').unwrap_or(&text));
        if let (Some(address), Ok(host)) = (address, host) {
            prop_assert_eq!(host, Host::Address(IpAddr::V4(address)));
        }
        if let Ok(host) = HostPattern::parse_denied(&text) {
            prop_assert!(matches!(host.name, NamePattern::Address(_)), "{text}: {host}");
        }
    }

    #[test]
    fn every_address_that_carries_another_is_judged_by_both(bits in special_bits()) {
        let v4 = Ipv4Addr::from_bits(bits);
        let [a, b] = [(bits >> 16) as u16, bits as u16];
        let forms = [
            v4.to_ipv6_mapped(),
            Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, a, b),
            Ipv6Addr::new(0x2002, a, b, 0, 0, 0, 0, 1),
            Ipv6Addr::new(0x2001, 0, a, b, 0, 0, !0xcb00, !0x7107),
            Ipv6Addr::new(0x2001, 0, 0xcb00, 0x7107, 0, 0, !a, !b),
            Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, a, b),
        ];
        let list = Network::Hosts(Hosts {
            allow: vec![Ruled::default_of(HostPattern::parse("s.test").unwrap())],
            ..Hosts::default()
        });
        let to = Destination::parse("s.test").unwrap();
        let (_, Some(permit)) = judged(&list, Consent::Tool, &to) else { unreachable!() };
        for form in forms {
            let dial = permit.may_dial(IpAddr::V6(form));
            prop_assert_eq!(dial, permit.may_dial(IpAddr::V4(v4)), "{}", form);
        }
    }
}

/// Reads a number as the resolvers of C libraries do: one to four parts, each
/// decimal, octal or hexadecimal.
fn numbers(text: &str) -> Option<Ipv4Addr> {
    let part = |text: &str| match text.strip_prefix('0') {
        Some(rest) if rest.starts_with(['x', 'X']) => u64::from_str_radix(&rest[1..], 16).ok(),
        Some(rest) if !rest.is_empty() => u64::from_str_radix(rest, 8).ok(),
        _ => text.parse().ok(),
    };
    let parts: Vec<u64> = text.split('.').map(part).collect::<Option<_>>()?;
    let (last, first) = parts.split_last().filter(|(_, first)| first.len() < 4)?;
    let room = 8 * (4 - first.len() as u32);
    if first.iter().any(|part| *part > 255) || *last >= 1 << room {
        return None;
    }
    let high = first.iter().fold(0, |all, part| all << 8 | part);
    Some(Ipv4Addr::from_bits(u32::try_from(high << room | last).ok()?))
}
