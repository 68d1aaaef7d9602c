//! Which hosts commands may reach, from the tree of a file.

use super::problem::{Mark, Problems};
use super::suggest;
use super::yaml::Node;
use crate::hosts::{self, ALIASES, HostFault, HostPattern, Hosts, PRESETS};
use crate::policy::{Network, Policy};
use crate::source::Ruled;

/// Reads a `network` value.
pub(crate) fn network(node: &Node, problems: &mut Problems) -> Ruled<Network> {
    let network = match (node.bool(), node.items()) {
        (Some(true), _) => Network::On,
        (Some(false), _) => Network::Off,
        (None, Some(_)) => {
            Network::Hosts(Hosts { allow: allowed(Some(node), problems), ..Hosts::default() })
        }
        (None, None) => Network::Hosts(listed(node, problems)),
    };
    Ruled::new(network, node.at())
}

fn listed(node: &Node, problems: &mut Problems) -> Hosts {
    let mut allow = allowed(node.get("allow"), problems);
    let ask = allowed(node.get("ask"), problems);
    // What is asked about may be reached: after a yes.
    let new = |asked: &&Ruled<HostPattern>| allow.iter().all(|held| held.value != asked.value);
    let asked: Vec<_> = ask.iter().filter(new).cloned().collect();
    allow.extend(asked);
    Hosts {
        allow,
        ask,
        deny: patterns(node.get("deny"), HostPattern::parse_denied, problems),
        presets: presets(node.get("presets"), problems),
    }
}

/// Reads hosts that may be reached.
pub(super) fn allowed(node: Option<&Node>, problems: &mut Problems) -> Vec<Ruled<HostPattern>> {
    let hosts = patterns(node, HostPattern::parse, problems);
    let items = node.and_then(Node::items).unwrap_or_default();
    for host in hosts.iter().filter(|host| host.value.is_shared()) {
        if let Some(item) = items.iter().find(|item| item.at() == host.at) {
            let message =
                format!("the host '{}' stands for names that many people have", host.value);
            let problem = problems.warning("shared_host", &item.mark, message);
            problem.hint("write each name that is needed");
        }
    }
    hosts
}

fn patterns(
    node: Option<&Node>,
    parse: fn(&str) -> Result<HostPattern, HostFault>,
    problems: &mut Problems,
) -> Vec<Ruled<HostPattern>> {
    let mut hosts: Vec<Ruled<HostPattern>> = Vec::new();
    for item in node.and_then(Node::items).unwrap_or_default() {
        let Some(text) = item.text() else { continue };
        match parse(text) {
            Ok(host) if hosts.iter().any(|listed| listed.value == host) => {}
            Ok(host) => hosts.push(Ruled::new(host, item.at())),
            Err(fault) => {
                let message = format!("the host '{text}' {fault}");
                problems.error("bad_host", &item.mark, message).hint(fault.hint());
            }
        }
    }
    hosts
}

/// Warns where a rule gives a command every host, and with them those that the
/// list refuses or asks about.
pub(super) fn warn_open(policy: &Policy, problems: &mut Problems) {
    let Network::Hosts(Hosts { ask, deny, .. }) = &policy.network.value else { return };
    let what = match (deny.is_empty(), ask.is_empty()) {
        (true, true) => return,
        (false, true) => "refuses",
        (true, false) => "asks about",
        (false, false) => "refuses or asks about",
    };
    for rule in policy.shell.rules.iter().filter(|rule| rule.grants == Network::On) {
        let pattern = &rule.pattern;
        let message = format!(
            "the rule for '{pattern}' gives every host, also those that sandbox.network {what}"
        );
        let problem = problems.warning("network_open", &Mark::of(&rule.at, 1), message);
        problem.hint("list the hosts that the command needs in grants.network");
    }
}

fn presets(node: Option<&Node>, problems: &mut Problems) -> Vec<Ruled<String>> {
    let mut presets: Vec<Ruled<String>> = Vec::new();
    for item in node.and_then(Node::items).unwrap_or_default() {
        let Some(text) = item.text() else { continue };
        match hosts::preset(text) {
            Some(preset) if presets.iter().any(|listed| listed.value == preset) => {}
            Some(preset) => presets.push(Ruled::new(preset.to_owned(), item.at())),
            None => {
                let aliases = ALIASES.iter().map(|(alias, _)| *alias);
                let known = || PRESETS.into_iter().chain(aliases);
                let hint = match suggest::nearest(text, known()) {
                    Some(near) => format!("did you mean '{near}'? presets: {}", PRESETS.join(", ")),
                    None => format!("presets: {}", PRESETS.join(", ")),
                };
                let message = format!("there is no preset '{text}'");
                problems.error("unknown_preset", &item.mark, message).hint(hint);
            }
        }
    }
    presets
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;
