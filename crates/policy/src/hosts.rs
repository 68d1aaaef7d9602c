//! Which hosts commands may reach: how rules are written, what they are for, and
//! how the lists of workers get smaller down a chain of calls.
//!
//! [`Host`] and [`HostPattern`] are the one reading of names and addresses: what
//! a program asks for and what a file allows are compared in one form. What may
//! be connected to is answered by [`judge_connect`], and the permit it gives says
//! which addresses the name may lead to.

mod address;
mod connect;
mod destination;
mod fault;
mod name;
mod narrow;
mod pattern;
mod presets;

use std::collections::BTreeMap;

pub use connect::{
    ConnectJudgement, ConnectPermit, ConnectQuestion, ConnectVerdict, judge_connect, resolvable,
};
pub use destination::{Destination, Host};
pub use fault::HostFault;
pub use name::{HOST_NAME, LOCALHOST};
pub use narrow::{Bounds, NotChosen};
pub(crate) use narrow::{join, meet, narrow, without};
pub use pattern::{HostPattern, NamePattern, WEB_PORTS, is_web};
pub use presets::{ALIASES, PRESETS, preset};

use crate::policy::Network;
use crate::source::Ruled;

/// The hosts of package managers, by preset. A preset that is missing gives
/// nothing.
pub type PresetHosts = BTreeMap<String, Vec<HostPattern>>;

/// The hosts that commands may reach.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hosts {
    /// All that may be reached, with or without a question.
    pub allow: Vec<Ruled<HostPattern>>,
    /// What is asked about, of what may be reached.
    pub ask: Vec<Ruled<HostPattern>>,
    /// What is refused, even where the others are for it.
    pub deny: Vec<Ruled<HostPattern>>,
    /// Package managers whose hosts may be reached, by canonical name.
    pub presets: Vec<Ruled<String>>,
}

impl Hosts {
    /// Returns what may be reached, in words; presets by their name.
    pub fn shown(&self) -> Vec<String> {
        let hosts = self.allow.iter().filter_map(|host| self.open(&host.value));
        let presets = self.presets.iter().map(|preset| format!("hosts of {}", preset.value));
        hosts.chain(presets).collect()
    }

    /// Returns the words for an entry, unless all of it is refused.
    fn open(&self, host: &HostPattern) -> Option<String> {
        let of = |own: &HostPattern| own.name.covers(&host.name);
        let every = |own: &HostPattern| host.ports().into_iter().all(|port| own.has_port(port));
        let refuses = |own: &HostPattern| of(own) && (own.port.is_none() || every(own));
        if self.deny.iter().any(|denied| refuses(&denied.value)) {
            return None;
        }
        let asks = |own: &HostPattern| of(own) && every(own);
        match self.ask.iter().any(|asked| asks(&asked.value)) {
            true => Some(format!("{host} (after a question)")),
            false => Some(host.to_string()),
        }
    }
}

/// Returns what may be reached, in words; the hosts of a preset each by itself.
pub fn allowed(network: &Network, presets: &PresetHosts) -> Vec<String> {
    let Network::Hosts(hosts) = network else { return network.shown() };
    let given = hosts.presets.iter().filter_map(|preset| presets.get(&preset.value)).flatten();
    let listed = hosts.allow.iter().map(|host| &host.value);
    let mut words: Vec<String> = Vec::new();
    for word in listed.chain(given).filter_map(|host| hosts.open(host)) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
