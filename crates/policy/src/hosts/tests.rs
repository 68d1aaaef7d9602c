//! Tables: each case is one line that somebody could write, and what becomes of it.

mod dial;
mod judging;
mod narrowing;
mod reading;

use super::*;
use crate::policy::Network;
use crate::source::{At, Ruled};

pub(super) fn pattern(text: &str) -> HostPattern {
    HostPattern::parse(text).unwrap_or_else(|fault| panic!("{text} {fault}"))
}

pub(super) fn to(text: &str) -> Destination {
    Destination::parse(text).unwrap_or_else(|fault| panic!("{text} {fault}"))
}

/// Reads `on`, `off`, or hosts: `a`, `?a` for one that is asked about, `-a` for a
/// refused one, `@a` for a preset. What is asked about is allowed too.
pub(super) fn network(text: &str) -> Network {
    let words = || text.split_whitespace();
    let named = |prefix: char| words().filter_map(move |word| word.strip_prefix(prefix));
    let denied = |word| HostPattern::parse_denied(word).unwrap();
    let allow = words()
        .filter(|word| !word.starts_with(['-', '@']))
        .map(|word| word.trim_start_matches('?'));
    match text {
        "on" => Network::On,
        "off" => Network::Off,
        _ => Network::Hosts(Hosts {
            allow: allow.map(pattern).map(Ruled::default_of).collect(),
            ask: named('?').map(pattern).map(Ruled::default_of).collect(),
            deny: named('-').map(denied).map(Ruled::default_of).collect(),
            presets: named('@').map(str::to_owned).map(Ruled::default_of).collect(),
        }),
    }
}

/// Writes a network as [`network`] reads it.
pub(super) fn shown(network: &Network) -> String {
    let hosts = match network {
        Network::Off => return "off".to_owned(),
        Network::On => return "on".to_owned(),
        Network::Hosts(hosts) => hosts,
    };
    let asked = |host: &HostPattern| hosts.ask.iter().any(|ask| ask.value == *host);
    let plain = hosts.allow.iter().filter(|host| !asked(&host.value));
    let plain = plain.map(|host| host.value.to_string());
    let ask = hosts.ask.iter().map(|host| format!("?{}", host.value));
    let deny = hosts.deny.iter().map(|host| format!("-{}", host.value));
    let presets = hosts.presets.iter().map(|preset| format!("@{}", preset.value));
    plain.chain(ask).chain(deny).chain(presets).collect::<Vec<_>>().join(" ")
}

/// Returns the hosts of some presets.
pub(super) fn presets(list: &[(&str, &[&str])]) -> PresetHosts {
    let hosts = |hosts: &[&str]| hosts.iter().map(|host| pattern(host)).collect();
    list.iter().map(|(name, list)| ((*name).to_owned(), hosts(list))).collect()
}

pub(super) fn line(line: u32) -> At {
    At::File { file: "zonekeep.yaml".into(), line, column: 1 }
}
