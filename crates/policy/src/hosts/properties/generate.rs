//! Random lists, destinations and texts.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::hosts::{Destination, Host, HostPattern, Hosts, LOCALHOST, NamePattern, is_web};
use crate::policy::{Consent, Network};
use crate::source::Ruled;

pub(super) const NAMES: [&str; 10] = [
    "s.test",
    "a.s.test",
    "b.s.test",
    "b.a.s.test",
    "xs.test",
    "s.test.evil.test",
    "xn--bcher-kva.test",
    "a.xn--bcher-kva.test",
    "localhost",
    "index.test",
];
pub(super) const ADDRESSES: [&str; 12] = [
    "10.1.2.3",
    "10.9.0.1",
    "127.0.0.1",
    "127.0.0.2",
    "169.254.169.254",
    "203.0.113.7",
    "224.0.0.1",
    "::1",
    "fd00::5",
    "64:ff9b::a01:203",
    "64:ff9b::cb00:7107",
    "2001:db8::1",
];
pub(super) const RANGES: [&str; 8] = [
    "10.0.0.0/8",
    "10.1.0.0/16",
    "169.254.0.0/16",
    "203.0.113.0/24",
    "203.0.0.0/8",
    "fd00::/8",
    "64:ff9b::/96",
    "::/16",
];
pub(super) const DENIED_RANGES: [&str; 3] = ["0.0.0.0/0", "127.0.0.0/8", "::/0"];
pub(super) const PORTS: [u16; 4] = [22, 80, 443, 8080];
pub(super) const CONSENTS: [Consent; 4] =
    [Consent::Tool, Consent::Manual, Consent::Auto, Consent::Strict];

pub(super) fn named() -> impl Strategy<Value = NamePattern> {
    let name = || select(NAMES.to_vec()).prop_map(str::to_owned);
    let read = |text: &str| HostPattern::parse_denied(text).unwrap().name;
    prop_oneof![
        4 => name().prop_map(NamePattern::Exact),
        4 => name().prop_filter("none below", |name| name != LOCALHOST).prop_map(NamePattern::Below),
        1 => Just(NamePattern::Below("test".to_owned())),
        2 => select(ADDRESSES.to_vec()).prop_map(|text| NamePattern::Address(text.parse().unwrap())),
        2 => select(RANGES.to_vec()).prop_map(read),
    ]
}

pub(super) fn port() -> impl Strategy<Value = Option<u16>> {
    prop::option::of(select(PORTS.to_vec()))
}

pub(super) fn host_pattern() -> impl Strategy<Value = HostPattern> {
    (named(), port()).prop_map(|(name, port)| HostPattern { name, port })
}

pub(super) fn denied() -> impl Strategy<Value = HostPattern> {
    let wide = (select(DENIED_RANGES.to_vec()), port())
        .prop_map(|(text, port)| HostPattern { port, ..HostPattern::parse_denied(text).unwrap() });
    prop_oneof![4 => host_pattern(), 1 => wide]
}

pub(super) fn ruled<T: Clone + std::fmt::Debug>(
    list: impl Strategy<Value = Vec<T>>,
) -> impl Strategy<Value = Vec<Ruled<T>>> {
    list.prop_map(|list| list.into_iter().map(Ruled::default_of).collect())
}

pub(super) fn hosts() -> impl Strategy<Value = Hosts> {
    let preset = select(vec!["python".to_owned(), "go".to_owned()]);
    (
        ruled(vec(host_pattern(), 0..6)),
        ruled(vec(host_pattern(), 0..3)),
        ruled(vec(denied(), 0..2)),
        ruled(vec(preset, 0..2)),
    )
        .prop_map(|(mut allow, ask, deny, presets)| {
            allow.extend(ask.clone());
            Hosts { allow, ask, deny, presets }
        })
}

pub(super) fn network() -> impl Strategy<Value = Network> {
    prop_oneof![
        1 => Just(Network::Off),
        1 => Just(Network::On),
        8 => hosts().prop_map(Network::Hosts),
    ]
}

/// What a child asks for: anything, or some of what its parent has.
pub(super) fn wanted() -> impl Strategy<Value = (Network, Vec<Pick>)> {
    (network(), vec(pick(), 0..4))
}

/// A way to take an entry of a list and ask for less of it, or for more.
#[derive(Debug, Clone)]
pub(super) struct Pick {
    entry: Index,
    label: bool,
    port: Option<u16>,
}

pub(super) fn pick() -> impl Strategy<Value = Pick> {
    let parts = (any::<Index>(), port(), any::<bool>());
    parts.prop_map(|(entry, port, label)| Pick { entry, label, port })
}

/// Adds to a request what lies within the parent's list, so that some are granted.
pub(super) fn request(held: &Network, (wanted, picks): (Network, Vec<Pick>)) -> Network {
    let (Network::Hosts(held), Network::Hosts(mut hosts)) = (held, wanted.clone()) else {
        return wanted;
    };
    if picks.is_empty() || held.allow.is_empty() {
        return Network::Hosts(hosts);
    }
    hosts.allow.clear();
    hosts.presets.clone_from(&held.presets);
    for pick in picks {
        let mut host = held.allow[pick.entry.index(held.allow.len())].value.clone();
        if let (true, NamePattern::Below(name)) = (pick.label, &host.name) {
            host.name = NamePattern::Exact(format!("a.{name}"));
        }
        host.port = match pick.port {
            Some(22) => None,
            port => host.port.or(port.filter(|port| is_web(*port))),
        };
        hosts.allow.push(Ruled::default_of(host));
    }
    Network::Hosts(hosts)
}

pub(super) fn destination() -> impl Strategy<Value = Destination> {
    let host = prop_oneof![
        3 => select(NAMES.to_vec()),
        2 => select(ADDRESSES.to_vec()),
    ];
    (host, select(PORTS.to_vec()))
        .prop_map(|(host, port)| Destination { host: Host::parse(host).unwrap(), port })
}

/// Addresses, most of them in or near ranges that are special.
pub(super) fn special_bits() -> impl Strategy<Value = u32> {
    let near = select(vec![
        0x0000_0000_u32,
        0x0a00_0000,
        0x6440_0000,
        0x7f00_0000,
        0xa9fe_a9fe,
        0xac10_0000,
        0xc0a8_0000,
        0xc612_0000,
        0xe000_0000,
        0xf000_0000,
        0xffff_ffff,
    ]);
    prop_oneof![
        1 => any::<u32>(),
        3 => (near, 0u32..4).prop_map(|(base, off)| base.wrapping_add(off).wrapping_sub(2)),
    ]
}

/// Texts that are nearly hosts.
pub(super) fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        select(vec![
            "*",
            "*.",
            ".",
            ":",
            "/",
            "[",
            "]",
            "%",
            "@",
            "443",
            "0",
            "a",
            "B",
            "ü",
            "xn--",
            "bcher-kva",
            "localhost",
            "host.zonekeep",
            "example",
            "org",
            "com",
            "github.io",
            "-",
            "_",
            "10.0.0.0",
            "/8",
            "fd00::",
            "::ffff:",
            "127.0.0.1",
            "。",
            "\u{ad}",
            " ",
        ])
        .prop_map(str::to_owned),
        "\\PC{1,3}",
    ];
    vec(piece, 0..7).prop_map(|pieces| pieces.concat())
}

/// Texts that a resolver could take for an address.
pub(super) fn numeric() -> impl Strategy<Value = String> {
    let part = prop_oneof!["[0-9]{1,4}", "0[0-7]{1,4}", "0[xX][0-9a-fA-F]{0,8}", "[0-9]{8,12}",];
    (vec(part, 1..6), any::<bool>())
        .prop_map(|(parts, dot)| parts.join(".") + if dot { "." } else { "" })
}
