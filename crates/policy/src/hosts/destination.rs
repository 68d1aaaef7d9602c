//! What somebody wants to connect to.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use super::fault::HostFault;
use super::name;

/// A host that somebody wants to connect to, in the one form in which hosts are
/// compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// A name: ASCII, lower case, without a dot at the end. The machine itself is
    /// `localhost`.
    Name(String),
    /// An address; IPv4 addresses are never written as IPv6 ones.
    Address(IpAddr),
}

impl Host {
    /// Reads a host as it is sent: in a request, a TLS hello or a DNS question.
    ///
    /// Only ASCII is read. Addresses are four decimal numbers, or IPv6 with or
    /// without brackets; every other way to write one is a fault and no name.
    pub fn parse(text: &str) -> Result<Host, HostFault> {
        if !text.is_ascii() {
            return Err(HostFault::NotAscii);
        }
        if text.is_empty() {
            return Err(HostFault::Empty);
        }
        if text.bytes().any(|b| b.is_ascii_whitespace() || b.is_ascii_control()) {
            return Err(HostFault::Blank);
        }
        if let Some(rest) = text.strip_prefix('[') {
            let inner = rest.strip_suffix(']').ok_or(HostFault::Address)?;
            return v6(inner).map(Host::Address);
        }
        if text.contains(':') {
            return v6(text).map(Host::Address);
        }
        let bare = text.strip_suffix('.').unwrap_or(text);
        match bare.parse::<Ipv4Addr>() {
            Ok(address) => Ok(Host::Address(IpAddr::V4(address))),
            Err(_) => name::canonical_ascii(text).map(Host::Name),
        }
    }

    /// Returns whether it is the machine that Zonekeep runs on, by name.
    pub fn is_localhost(&self) -> bool {
        matches!(self, Host::Name(name) if name == name::LOCALHOST)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Address(address) => write!(f, "{address}"),
        }
    }
}

/// Reads what is written as an IPv6 address; it may be an IPv4 address.
pub(super) fn v6(text: &str) -> Result<IpAddr, HostFault> {
    written_v6(text).map(|address| IpAddr::V6(address).to_canonical())
}

/// Reads an IPv6 address as it is written.
pub(super) fn written_v6(text: &str) -> Result<Ipv6Addr, HostFault> {
    match text.contains('%') {
        true => Err(HostFault::Interface),
        false => text.parse().map_err(|_| HostFault::Address),
    }
}

/// Reads a port: digits alone, from 1 to 65535.
pub(super) fn port(text: &str) -> Result<u16, HostFault> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    let port = plain.then(|| text.parse().ok()).flatten();
    port.ok_or(HostFault::Port)
}

/// A host and a port that somebody wants to connect to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Destination {
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
}

impl Destination {
    /// Returns a port of a host.
    pub fn new(host: Host, port: u16) -> Self {
        Destination { host, port }
    }

    /// Reads `HOST`, `HOST:PORT` or `[ADDRESS]:PORT`; without a port it is 443.
    pub fn parse(text: &str) -> Result<Destination, HostFault> {
        Destination::read(text, Host::parse)
    }

    /// Reads the same as a person writes it, who may use any script for a name.
    pub fn parse_written(text: &str) -> Result<Destination, HostFault> {
        Destination::read(text, |host| match host.is_ascii() {
            true => Host::parse(host),
            false => name::canonical(host).map(Host::Name),
        })
    }

    fn read(
        text: &str,
        host_of: impl Fn(&str) -> Result<Host, HostFault>,
    ) -> Result<Destination, HostFault> {
        if text.contains("://") {
            return Err(HostFault::Url);
        }
        let (host, written) = match text.rsplit_once(':') {
            Some((host, port)) if host.ends_with(']') || !host.contains(':') => (host, Some(port)),
            _ => (text, None),
        };
        let port = written.map_or(Ok(443), port)?;
        Ok(Destination { host: host_of(host)?, port })
    }
}

impl FromStr for Destination {
    type Err = HostFault;

    fn from_str(text: &str) -> Result<Destination, HostFault> {
        Destination::parse(text)
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]:{}", self.port),
            host => write!(f, "{host}:{}", self.port),
        }
    }
}
