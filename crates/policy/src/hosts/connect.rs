//! Whether a connection may be made, and where it may lead.

use std::net::IpAddr;

use super::address::{self, Kind};
use super::destination::{Destination, Host};
use super::pattern::{HostPattern, NamePattern};
use super::{Hosts, PresetHosts};
use crate::denial::Denial;
use crate::judge::{Cause, Rule};
use crate::policy::{Consent, Network};
use crate::source::{At, Ruled};

/// The rules' answer.
#[derive(Debug)]
pub enum ConnectVerdict {
    /// It may be made.
    Allow(ConnectPermit),
    /// It may be made after a yes.
    Ask(ConnectQuestion),
    /// It may not be made.
    Deny(Denial),
}

/// A verdict and the rule it rests on.
#[derive(Debug)]
pub struct ConnectJudgement {
    /// The answer.
    pub verdict: ConnectVerdict,
    /// What decided; nobody's line where no entry of a list is for the host.
    pub rule: Rule,
}

/// Proof that a connection was judged.
///
/// Only this module makes such permits. A connection is made to the destination
/// inside, and only to addresses that [`ConnectPermit::may_dial`] lets through.
#[derive(Debug, Clone)]
pub struct ConnectPermit {
    to: Destination,
    reach: Reach,
}

/// Which addresses a permit may lead to.
#[derive(Debug, Clone)]
enum Reach {
    /// All of them: nothing is listed.
    Everything,
    /// Those of the network at large, and what the lists say about others on the
    /// permit's port.
    Listed { allow: Vec<NamePattern>, ask: Vec<NamePattern>, deny: Vec<NamePattern> },
}

impl ConnectPermit {
    /// Returns what may be connected to.
    pub fn to(&self) -> &Destination {
        &self.to
    }

    /// Returns whether the connection may lead to an address, or in a word why not.
    ///
    /// `localhost` leads to the machine itself and nowhere else. Other names lead
    /// to addresses of the network at large, and to private ones only where the
    /// list names them: in a range, or one by one for the machine itself and for
    /// what clouds tell their machines.
    pub fn may_dial(&self, ip: IpAddr) -> Result<(), &'static str> {
        let Reach::Listed { allow, ask, deny } = &self.reach else { return Ok(()) };
        let ip = ip.to_canonical();
        let host = Host::Address(ip);
        if deny.iter().any(|pattern| pattern.denies(&host)) {
            return Err("refused");
        }
        let named = match &self.to.host {
            name if name.is_localhost() => {
                return if ip.is_loopback() { Ok(()) } else { Err("not loopback") };
            }
            Host::Address(own) if *own != ip => return Err("another address"),
            Host::Address(_) => true,
            Host::Name(_) => false,
        };
        // Who was asked was asked about the name.
        if !named && ask.iter().any(|pattern| pattern.denies(&host)) {
            return Err("asked about");
        }
        match address::kind(ip) {
            None => Ok(()),
            Some(kind) if kind.is_nobody() => Err(kind.as_str()),
            Some(_) if allow.iter().any(|pattern| pattern.matches(&host)) => Ok(()),
            Some(kind) => Err(kind.as_str()),
        }
    }
}

/// A permit that waits for somebody's yes.
#[derive(Debug)]
pub struct ConnectQuestion {
    permit: ConnectPermit,
    /// What needs consent, in words for the person who is asked.
    pub reasons: Vec<String>,
}

impl ConnectQuestion {
    /// Returns what is asked about.
    pub fn to(&self) -> &Destination {
        &self.permit.to
    }

    /// Returns the permit, after a yes.
    pub fn approved(self) -> ConnectPermit {
        self.permit
    }
}

/// Answers whether a connection may be made by a command that may reach
/// `grant_network`, where the package managers' hosts are those of `presets`.
///
/// What is refused stays refused, whatever else is said of it; of what is
/// allowed, some is asked about. The rule is that of the list's entry; where no
/// entry is for the destination, it is written where the network is.
pub fn judge_connect(
    grant_network: &Network,
    presets: &PresetHosts,
    consent: &Ruled<Consent>,
    to: &Destination,
) -> ConnectJudgement {
    match grant_network {
        Network::Off => {
            let reason = "there is no network here".to_owned();
            refuse(to, Vec::new(), reason, nobodys("sandbox.network: false"))
        }
        Network::On => {
            let permit = ConnectPermit { to: to.clone(), reach: Reach::Everything };
            let rule = nobodys("sandbox.network: true");
            ConnectJudgement { verdict: ConnectVerdict::Allow(permit), rule }
        }
        Network::Hosts(hosts) => judge_listed(hosts, presets, consent, to),
    }
}

fn nobodys(says: &str) -> Rule {
    Rule { at: At::Default, says: says.to_owned(), cause: Cause::Network }
}

fn refuse(to: &Destination, allowed: Vec<String>, reason: String, rule: Rule) -> ConnectJudgement {
    let denial = Denial::HostRefused { host: to.to_string(), allowed, reason };
    ConnectJudgement { verdict: ConnectVerdict::Deny(denial), rule }
}

fn judge_listed(
    hosts: &Hosts,
    presets: &PresetHosts,
    consent: &Ruled<Consent>,
    to: &Destination,
) -> ConnectJudgement {
    let rule = |key: &str, entry: &str, at: &At| Rule {
        at: at.clone(),
        says: format!("sandbox.network.{key}: {entry}"),
        cause: Cause::Network,
    };
    let no = |reason: &str, rule| refuse(to, hosts.shown(), reason.to_owned(), rule);
    // Whoever made it without reading it could slip a refused name past its rule.
    if Host::parse(&to.host.to_string()).as_ref() != Ok(&to.host) {
        return no("it is not a host name", nobodys("a host has one way to be written"));
    }
    if let Some(denied) = hosts.deny.iter().find(|denied| denied.value.denies(to)) {
        let rule = rule("deny", &denied.value.to_string(), &denied.at);
        return no("it is a refused host", rule);
    }
    let listed = hosts.allow.iter().find(|allowed| allowed.value.allows(to));
    let preset = || {
        hosts.presets.iter().find(|preset| {
            presets.get(&preset.value).is_some_and(|list| list.iter().any(|host| host.allows(to)))
        })
    };
    let allowed = match (listed, listed.is_none().then(preset).flatten()) {
        (Some(listed), _) => rule("allow", &listed.value.to_string(), &listed.at),
        (None, Some(preset)) => rule("presets", &preset.value, &preset.at),
        (None, None) => {
            return no(&unlisted(hosts, presets, to), nobodys("sandbox.network does not list it"));
        }
    };
    let permit = ConnectPermit { to: to.clone(), reach: reach(hosts, presets, consent, to.port) };
    if let Host::Address(ip) = to.host
        && let Err(word) = permit.may_dial(ip)
    {
        return no(&format!("it is no address to connect to ({word})"), allowed);
    }
    let asked = hosts.ask.iter().find(|asked| asked.value.asks(to));
    let Some(asked) = asked else {
        return ConnectJudgement { verdict: ConnectVerdict::Allow(permit), rule: allowed };
    };
    let rule = rule("ask", &asked.value.to_string(), &asked.at);
    by_consent(permit, rule, consent)
}

/// Turns a question into what the approval mode makes of it.
fn by_consent(permit: ConnectPermit, rule: Rule, consent: &Ruled<Consent>) -> ConnectJudgement {
    let by_mode =
        |says: &str| Rule { at: consent.at.clone(), says: says.to_owned(), cause: Cause::Consent };
    match consent.value {
        Consent::Auto => ConnectJudgement {
            verdict: ConnectVerdict::Allow(permit),
            rule: by_mode("approval.mode: auto"),
        },
        Consent::Strict => {
            let reason = "questions are turned off".to_owned();
            let denial = Denial::HostUnasked { host: permit.to.to_string(), reason };
            let rule = by_mode("approval.mode: strict");
            ConnectJudgement { verdict: ConnectVerdict::Deny(denial), rule }
        }
        Consent::Tool | Consent::Manual => {
            let reasons = vec![rule.says.clone()];
            let question = ConnectQuestion { permit, reasons };
            ConnectJudgement { verdict: ConnectVerdict::Ask(question), rule }
        }
    }
}

/// Returns what the lists say about addresses on a port.
fn reach(hosts: &Hosts, presets: &PresetHosts, consent: &Ruled<Consent>, port: u16) -> Reach {
    let is_address =
        |name: &&NamePattern| matches!(name, NamePattern::Address(_) | NamePattern::Range { .. });
    let allows = |pattern: &&HostPattern| pattern.has_port(port);
    let of = |patterns: &[Ruled<HostPattern>]| {
        let patterns = patterns.iter().map(|pattern| &pattern.value).filter(allows);
        patterns.map(|pattern| &pattern.name).filter(is_address).cloned().collect::<Vec<_>>()
    };
    let mut allow = of(&hosts.allow);
    let given = hosts.presets.iter().filter_map(|preset| presets.get(&preset.value)).flatten();
    allow.extend(given.filter(allows).map(|host| &host.name).filter(is_address).cloned());
    let ask = match consent.value {
        Consent::Auto => Vec::new(),
        _ => of(&hosts.ask),
    };
    let deny = hosts.deny.iter().filter(|denied| denied.value.port.is_none_or(|own| own == port));
    Reach::Listed { allow, ask, deny: deny.map(|denied| denied.value.name.clone()).collect() }
}

/// Returns why a destination is not allowed that no entry is for.
fn unlisted(hosts: &Hosts, presets: &PresetHosts, to: &Destination) -> String {
    let given = hosts.presets.iter().filter_map(|preset| presets.get(&preset.value)).flatten();
    let all = hosts.allow.iter().map(|allowed| &allowed.value).chain(given);
    let mut ports: Vec<u16> =
        all.filter(|pattern| pattern.name.matches(&to.host)).flat_map(HostPattern::ports).collect();
    ports.sort_unstable();
    ports.dedup();
    let words: Vec<String> = ports.iter().map(u16::to_string).collect();
    match words.split_last() {
        None => {}
        Some((only, [])) => return format!("only port {only} of it is allowed"),
        Some((last, more)) => {
            return format!("only ports {} and {last} of it are allowed", more.join(", "));
        }
    }
    match to.host {
        Host::Address(ip) => match address::kind(ip) {
            Some(Kind::Loopback) => "it is this machine's own address, which is not allowed",
            _ => "it is not an allowed address",
        },
        Host::Name(_) => "it is not an allowed host",
    }
    .to_owned()
}

/// Returns whether a name leads anywhere: some port of it is allowed or asked
/// about.
pub fn resolvable(network: &Network, presets: &PresetHosts, name: &str) -> bool {
    let Ok(host @ Host::Name(_)) = Host::parse(name) else { return false };
    let hosts = match network {
        Network::Off => return false,
        Network::On => return true,
        Network::Hosts(hosts) => hosts,
    };
    let given = hosts.presets.iter().filter_map(|preset| presets.get(&preset.value)).flatten();
    let all = hosts.allow.iter().map(|allowed| &allowed.value).chain(given);
    all.filter(|pattern| pattern.name.matches(&host)).flat_map(HostPattern::ports).any(|port| {
        let to = Destination { host: host.clone(), port };
        !hosts.deny.iter().any(|denied| denied.value.denies(&to))
    })
}
