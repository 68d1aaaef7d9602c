//! What a worker's commands may reach, out of what its caller's may.

use super::fault::HostFault;
use super::pattern::HostPattern;
use super::{Hosts, presets};
use crate::denial;
use crate::grant::ExceedsParent;
use crate::policy::Network;
use crate::source::Ruled;

/// What stays refused and asked about, whatever a rule gives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bounds {
    /// Hosts that are refused.
    pub deny: Vec<Ruled<HostPattern>>,
    /// Hosts that are asked about.
    pub ask: Vec<Ruled<HostPattern>>,
}

impl Bounds {
    /// Returns what a network refuses and asks about.
    pub(crate) fn of(network: &Network) -> Bounds {
        match network {
            Network::Hosts(hosts) => Bounds { deny: hosts.deny.clone(), ask: hosts.ask.clone() },
            Network::Off | Network::On => Bounds::default(),
        }
    }

    /// Returns what either of two refuses or asks about.
    pub(crate) fn and(&self, other: &Bounds) -> Bounds {
        Bounds { deny: union(&self.deny, &other.deny), ask: union(&self.ask, &other.ask) }
    }
}

/// Returns what a child gets that asks for `wanted`, where its parent has `held`.
///
/// What the parent refuses stays refused, and what it is asked about is asked about.
pub(crate) fn narrow(held: &Network, wanted: &Network) -> Result<Network, ExceedsParent> {
    let exceeds = |host: &HostPattern| ExceedsParent::Host { host: host.to_string() };
    let preset = |name: &str| ExceedsParent::Preset { preset: name.to_owned() };
    match (held, wanted) {
        (_, Network::Off) => Ok(Network::Off),
        (Network::On, wanted) => Ok(wanted.clone()),
        (_, Network::On) => Err(ExceedsParent::Network),
        (Network::Off, Network::Hosts(wanted)) => {
            match (wanted.allow.first(), wanted.presets.first()) {
                (Some(host), _) => Err(exceeds(&host.value)),
                (None, Some(name)) => Err(preset(&name.value)),
                (None, None) => Ok(Network::Off),
            }
        }
        (Network::Hosts(held), Network::Hosts(wanted)) => {
            if let Some(host) = wanted.allow.iter().find(|host| !held.covers(&host.value)) {
                return Err(exceeds(&host.value));
            }
            if let Some(name) = wanted.presets.iter().find(|name| !is_listed(&held.presets, name)) {
                return Err(preset(&name.value));
            }
            Ok(Network::Hosts(Hosts {
                allow: wanted.allow.clone(),
                ask: union(&held.ask, &wanted.ask),
                deny: union(&held.deny, &wanted.deny),
                presets: wanted.presets.clone(),
            }))
        }
    }
}

/// Returns what both of two give.
pub(crate) fn meet(a: &Network, b: &Network) -> Network {
    match (a, b) {
        (Network::Off, _) | (_, Network::Off) => Network::Off,
        (Network::On, other) | (other, Network::On) => other.clone(),
        (Network::Hosts(a), Network::Hosts(b)) => {
            let of_both = |preset: &&Ruled<String>| is_listed(&b.presets, preset);
            let presets: Vec<_> = a.presets.iter().filter(of_both).cloned().collect();
            let allow = union(&within(&a.allow, b), &within(&b.allow, a));
            if allow.is_empty() && presets.is_empty() {
                return Network::Off;
            }
            let (ask, deny) = (union(&a.ask, &b.ask), union(&a.deny, &b.deny));
            Network::Hosts(Hosts { allow, ask, deny, presets })
        }
    }
}

/// Returns what one list allows of what another allows, port by port.
fn within(hosts: &[Ruled<HostPattern>], of: &Hosts) -> Vec<Ruled<HostPattern>> {
    let mut kept = Vec::new();
    for host in hosts {
        if of.covers(&host.value) {
            kept.push(host.clone());
            continue;
        }
        for port in host.value.ports() {
            let one = HostPattern { name: host.value.name.clone(), port: Some(port) };
            if of.covers(&one) {
                kept.push(Ruled::new(one, host.at.clone()));
            }
        }
    }
    kept
}

/// Returns what either of two gives; what one refuses or asks about stays so,
/// unless the other gives everything.
pub(crate) fn join(a: &Network, b: &Network) -> Network {
    match (a, b) {
        (Network::On, _) | (_, Network::On) => Network::On,
        (Network::Off, other) | (other, Network::Off) => other.clone(),
        (Network::Hosts(a), Network::Hosts(b)) => Network::Hosts(Hosts {
            allow: union(&a.allow, &b.allow),
            ask: union(&a.ask, &b.ask),
            deny: union(&a.deny, &b.deny),
            presets: union(&a.presets, &b.presets),
        }),
    }
}

/// Returns a network that refuses more hosts and asks about more.
pub(crate) fn without(network: Network, bounds: &Bounds) -> Network {
    match network {
        Network::Hosts(hosts) => Network::Hosts(Hosts {
            ask: union(&hosts.ask, &bounds.ask),
            deny: union(&hosts.deny, &bounds.deny),
            ..hosts
        }),
        all_or_nothing => all_or_nothing,
    }
}

/// Returns all entries of two lists, each once.
fn union<T: PartialEq + Clone>(a: &[Ruled<T>], b: &[Ruled<T>]) -> Vec<Ruled<T>> {
    let mut all = a.to_vec();
    all.extend(b.iter().filter(|entry| !is_listed(a, entry)).cloned());
    all
}

fn is_listed<T: PartialEq>(list: &[Ruled<T>], entry: &Ruled<T>) -> bool {
    list.iter().any(|listed| listed.value == entry.value)
}

impl Hosts {
    /// Returns whether every port of a pattern is allowed by one entry or another.
    pub fn covers(&self, wanted: &HostPattern) -> bool {
        wanted.ports().into_iter().all(|port| {
            let held = |held: &Ruled<HostPattern>| {
                held.value.has_port(port) && held.value.name.covers(&wanted.name)
            };
            self.allow.iter().any(held)
        })
    }
}

/// Why a call cannot have the hosts that it names, in words for the agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotChosen {
    /// The text is no host.
    #[error("The host '{}' {fault}.\nHint: {}", denial::shown(.given), .fault.hint())]
    Host {
        /// The text as given.
        given: String,
        /// What is wrong with it.
        fault: HostFault,
    },
    /// There is no such package manager.
    #[error("There is no package manager '{}'.\nKnown: {}", denial::shown(.given), presets::PRESETS.join(", "))]
    Manager {
        /// The text as given.
        given: String,
    },
    /// It is more than the worker has.
    #[error("{}\nAllowed hosts: {}", words(.reason), denial::list(.allowed))]
    Exceeds {
        /// What is too much.
        reason: ExceedsParent,
        /// What could be named.
        allowed: Vec<String>,
    },
}

/// Returns what is too much, in words for an agent that names hosts itself.
fn words(reason: &ExceedsParent) -> String {
    match reason {
        ExceedsParent::Host { host } => format!("The host '{host}' is not an allowed host."),
        ExceedsParent::Preset { preset } => {
            format!("The hosts of '{preset}' are not among the allowed hosts.")
        }
        _ => "There is no network here.".to_owned(),
    }
}

impl Network {
    /// Returns what a call reaches that names some of the hosts and package
    /// managers it needs: these and no others. A call that names neither has all
    /// that is held.
    pub fn chosen(
        &self,
        domains: Option<&[String]>,
        managers: Option<&[String]>,
    ) -> Result<Network, NotChosen> {
        if domains.is_none() && managers.is_none() {
            return Ok(self.clone());
        }
        let mut wanted = Hosts::default();
        for given in domains.unwrap_or_default() {
            let host = HostPattern::parse(given)
                .map_err(|fault| NotChosen::Host { given: given.clone(), fault })?;
            push(&mut wanted.allow, host);
        }
        for given in managers.unwrap_or_default() {
            let preset = presets::preset(given)
                .ok_or_else(|| NotChosen::Manager { given: given.clone() })?;
            push(&mut wanted.presets, preset.to_owned());
        }
        let narrowed = narrow(self, &Network::Hosts(wanted));
        narrowed.map_err(|reason| NotChosen::Exceeds { reason, allowed: self.shown() })
    }

    /// Returns what may be reached, in words; presets by their name.
    pub fn shown(&self) -> Vec<String> {
        match self {
            Network::Off => Vec::new(),
            Network::On => vec!["every host".to_owned()],
            Network::Hosts(hosts) => hosts.shown(),
        }
    }
}

fn push<T: PartialEq>(list: &mut Vec<Ruled<T>>, value: T) {
    if list.iter().all(|listed| listed.value != value) {
        list.push(Ruled::default_of(value));
    }
}
