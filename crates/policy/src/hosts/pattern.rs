//! Rules for hosts: a name, all names below one, an address or a range, and a port.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use super::address;
use super::destination::{self, Destination, Host};
use super::fault::HostFault;
use super::name::{self, Suffix};

/// The ports of a pattern that names none.
pub const WEB_PORTS: [u16; 2] = [80, 443];

/// Returns whether a port is one of the web's, 80 or 443.
pub fn is_web(port: u16) -> bool {
    WEB_PORTS.contains(&port)
}

/// Which hosts a rule is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NamePattern {
    /// This name.
    Exact(String),
    /// Every name below this one, and not the name itself.
    Below(String),
    /// This address.
    Address(IpAddr),
    /// The addresses whose first bits are these.
    Range {
        /// The first address.
        base: IpAddr,
        /// How many bits count.
        bits: u8,
    },
}

/// A rule for hosts, in the one form in which rules are compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPattern {
    /// The hosts.
    pub name: NamePattern,
    /// The port; `None` is 80 and 443, and every port in a list of refused hosts.
    pub port: Option<u16>,
}

/// What a pattern is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Allow,
    Deny,
}

impl HostPattern {
    /// Reads a pattern that allows something, such as `*.example.org` or
    /// `10.1.2.3:8080`.
    pub fn parse(text: &str) -> Result<HostPattern, HostFault> {
        read(text, Purpose::Allow)
    }

    /// Reads a pattern that refuses something. It may be as wide as it likes.
    pub fn parse_denied(text: &str) -> Result<HostPattern, HostFault> {
        read(text, Purpose::Deny)
    }

    /// Returns the ports that it allows.
    pub fn ports(&self) -> Vec<u16> {
        self.port.map_or_else(|| WEB_PORTS.to_vec(), |port| vec![port])
    }

    /// Returns whether it allows a port.
    pub fn has_port(&self, port: u16) -> bool {
        self.port.map_or_else(|| is_web(port), |own| own == port)
    }

    /// Returns whether, as one that allows, it is for a destination.
    pub fn allows(&self, to: &Destination) -> bool {
        self.has_port(to.port) && self.name.matches(&to.host)
    }

    /// Returns whether, as one that asks, it is for a destination: only on its
    /// ports, and there for as much as one that refuses.
    pub fn asks(&self, to: &Destination) -> bool {
        self.has_port(to.port) && self.name.denies(&to.host)
    }

    /// Returns whether, as one that refuses, it is for a destination.
    pub fn denies(&self, to: &Destination) -> bool {
        self.port.is_none_or(|own| own == to.port) && self.name.denies(&to.host)
    }

    /// Returns whether the names that it stands for are many people's, which is
    /// worth a second look.
    pub fn is_shared(&self) -> bool {
        match &self.name {
            NamePattern::Below(name) => name::suffix(name) == Some(Suffix::Private),
            _ => false,
        }
    }
}

impl NamePattern {
    /// Returns whether, as one that allows, it is for a host.
    pub fn matches(&self, host: &Host) -> bool {
        match (self, host) {
            (NamePattern::Exact(own), Host::Name(name)) => own == name,
            (NamePattern::Below(own), Host::Name(name)) => is_below(name, own),
            (NamePattern::Address(own), Host::Address(address)) => own == address,
            // Some addresses are reached only where they themselves are listed.
            (NamePattern::Range { base, bits }, Host::Address(address)) => {
                in_range(*base, *bits, *address) && !address::only_by_itself(*address)
            }
            _ => false,
        }
    }

    /// Returns whether, as one that refuses, it is for a host: also for an address
    /// that carries a refused one inside, and for each address of the machine
    /// where `localhost` is refused.
    pub fn denies(&self, host: &Host) -> bool {
        let Host::Address(address) = host else { return self.matches(host) };
        let mut forms = address::forms(*address).into_iter();
        match self {
            NamePattern::Exact(name) => {
                name == name::LOCALHOST && forms.any(|form| form.is_loopback())
            }
            NamePattern::Below(_) => false,
            NamePattern::Address(own) => forms.any(|form| form == *own),
            NamePattern::Range { base, bits } => forms.any(|form| in_range(*base, *bits, form)),
        }
    }

    /// Returns whether it is for all that another is for.
    pub fn covers(&self, other: &NamePattern) -> bool {
        match (self, other) {
            (NamePattern::Below(own), NamePattern::Below(name)) => {
                own == name || is_below(name, own)
            }
            (own, NamePattern::Exact(name)) => own.matches(&Host::Name(name.clone())),
            (own, NamePattern::Address(address)) => own.matches(&Host::Address(*address)),
            (
                NamePattern::Range { base, bits },
                NamePattern::Range { base: first, bits: longer },
            ) => bits <= longer && in_range(*base, *bits, *first),
            _ => false,
        }
    }
}

/// Returns whether a name is below another, and not that name itself.
fn is_below(name: &str, above: &str) -> bool {
    name.strip_suffix(above).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
}

/// Returns whether an address has the first bits of another.
pub(super) fn in_range(base: IpAddr, bits: u8, address: IpAddr) -> bool {
    first_of(address, bits) == first_of(base, bits)
}

/// Returns the first address of the range that holds an address.
fn first_of(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32_u32.saturating_sub(bits.into())).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask))
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128_u32.saturating_sub(bits.into())).unwrap_or(0);
            IpAddr::V6((v6.to_bits() & mask).into())
        }
    }
}

fn read(text: &str, purpose: Purpose) -> Result<HostPattern, HostFault> {
    if text.trim().is_empty() {
        return Err(HostFault::Empty);
    }
    if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(HostFault::Blank);
    }
    if text.contains("://") {
        return Err(HostFault::Url);
    }
    if text.contains('@') {
        return Err(HostFault::User);
    }
    let (host, port) = split_port(text)?;
    let port = port.map(destination::port).transpose()?;
    let name = match host {
        Written::Address(text) => address_or_range(text, purpose)?,
        Written::Name(text) => named(text, purpose)?,
    };
    Ok(HostPattern { name, port })
}

/// A host without its port: what has to be an address, and what may be a name.
enum Written<'t> {
    Address(&'t str),
    Name(&'t str),
}

/// Takes the port off.
fn split_port(text: &str) -> Result<(Written<'_>, Option<&str>), HostFault> {
    if let Some(rest) = text.strip_prefix('[') {
        let (inner, after) = rest.split_once(']').ok_or(HostFault::Address)?;
        return match after.strip_prefix(':') {
            _ if after.is_empty() => Ok((Written::Address(inner), None)),
            Some(port) => Ok((Written::Address(inner), Some(port))),
            None if after.starts_with('/') => Err(HostFault::Path),
            None => Err(HostFault::Address),
        };
    }
    match text.split_once(':') {
        Some((_, rest)) if rest.contains(':') => Ok((Written::Address(text), None)),
        Some((host, port)) => match host.is_empty() {
            true => Err(HostFault::Empty),
            false if port.contains('/') => Err(HostFault::Path),
            false => Ok((Written::Name(host), Some(port))),
        },
        None => Ok((Written::Name(text), None)),
    }
}

/// Reads an IPv6 address or range.
fn address_or_range(text: &str, purpose: Purpose) -> Result<NamePattern, HostFault> {
    match text.split_once('/') {
        Some((address, bits)) => {
            range(IpAddr::V6(destination::written_v6(address)?), bits, purpose)
        }
        None => single(destination::v6(text)?),
    }
}

/// Reads a name, an IPv4 address or an IPv4 range.
fn named(text: &str, purpose: Purpose) -> Result<NamePattern, HostFault> {
    if let Some((host, bits)) = text.split_once('/') {
        let address: Ipv4Addr = host.parse().map_err(|_| HostFault::Path)?;
        return range(IpAddr::V4(address), bits, purpose);
    }
    if text.contains(['\\', '?', '#']) {
        return Err(HostFault::Path);
    }
    if text == "*" || text == "*." {
        return Err(HostFault::Everything);
    }
    if let Some(rest) = text.strip_prefix("*.") {
        return below(rest, purpose);
    }
    if text.contains('*') {
        return Err(HostFault::Star);
    }
    match text.strip_suffix('.').unwrap_or(text).parse::<Ipv4Addr>() {
        Ok(address) => single(IpAddr::V4(address)),
        Err(_) => name::canonical(text).map(NamePattern::Exact),
    }
}

fn below(rest: &str, purpose: Purpose) -> Result<NamePattern, HostFault> {
    if rest.contains('*') {
        return Err(HostFault::Star);
    }
    let name = name::canonical(rest)?;
    if [name::LOCALHOST, "zonekeep"].iter().any(|own| name == *own || is_below(&name, own)) {
        return Err(HostFault::BelowLocal);
    }
    if purpose == Purpose::Allow && name::suffix(&name) == Some(Suffix::Public) {
        return Err(HostFault::PublicSuffix { suffix: name });
    }
    Ok(NamePattern::Below(name))
}

fn single(address: IpAddr) -> Result<NamePattern, HostFault> {
    match address.is_unspecified() {
        true => Err(HostFault::Unspecified),
        false => Ok(NamePattern::Address(address)),
    }
}

fn range(address: IpAddr, bits: &str, purpose: Purpose) -> Result<NamePattern, HostFault> {
    let plain = !bits.is_empty() && bits.bytes().all(|b| b.is_ascii_digit());
    let bits: u8 = plain.then(|| bits.parse().ok()).flatten().ok_or(HostFault::Bits)?;
    // A range of IPv4 addresses that are written as IPv6 is one of IPv4.
    let (address, bits) = match address.to_canonical() {
        v4 @ IpAddr::V4(_) if address.is_ipv6() => {
            (v4, bits.checked_sub(96).ok_or(HostFault::Wide)?)
        }
        _ => (address, bits),
    };
    // The least that is still one network: a half of all is none.
    let (most, least) = match address {
        IpAddr::V4(_) => (32, 8),
        IpAddr::V6(v6) if v6.segments()[0] >= 0xfc00 => (128, 7),
        IpAddr::V6(_) => (128, 16),
    };
    if bits > most {
        return Err(HostFault::Bits);
    }
    if first_of(address, bits) != address {
        let range = NamePattern::Range { base: first_of(address, bits), bits };
        return Err(HostFault::Inside { range: range.to_string() });
    }
    if bits == most {
        return single(address);
    }
    if purpose == Purpose::Allow && bits < least {
        return Err(HostFault::Wide);
    }
    if purpose == Purpose::Allow && address.is_loopback() {
        return Err(HostFault::OwnMachine);
    }
    Ok(NamePattern::Range { base: address, bits })
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NamePattern::Exact(name) => f.write_str(name),
            NamePattern::Below(name) => write!(f, "*.{name}"),
            NamePattern::Address(address) => write!(f, "{address}"),
            NamePattern::Range { base, bits } => write!(f, "{base}/{bits}"),
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.name, self.port) {
            (name, None) => write!(f, "{name}"),
            (
                name @ (NamePattern::Address(IpAddr::V6(_))
                | NamePattern::Range { base: IpAddr::V6(_), .. }),
                Some(port),
            ) => write!(f, "[{name}]:{port}"),
            (name, Some(port)) => write!(f, "{name}:{port}"),
        }
    }
}
