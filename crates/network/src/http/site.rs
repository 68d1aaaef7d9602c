//! A name with a port, as requests write it.

use std::fmt;
use std::net::IpAddr;

use zonekeep_policy::hosts::{Destination, Host};

use crate::event::{Reason, Refusal, visible};
use crate::gate::HOST_ADDRESS;

/// What a Host header, an absolute address or a CONNECT names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) host: Host,
    pub(crate) port: Option<u16>,
}

impl Site {
    /// Reads `name`, `name:port`, `address:port` or `[address]:port`.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Site, Refusal> {
        let bad = |why: &str| Refusal::new(Reason::Name, format!("'{}' {why}", visible(bytes)));
        let text = std::str::from_utf8(bytes).map_err(|_| bad("is not ASCII"))?;
        let (name, port) = match text.rfind(':') {
            // The colons of an address stand in brackets.
            Some(colon) if !text[colon..].contains(']') => {
                (&text[..colon], Some(&text[colon + 1..]))
            }
            _ => (text, None),
        };
        if name.contains(':') && !name.starts_with('[') {
            return Err(bad("is an address that stands in no brackets"));
        }
        let port = match port {
            None => None,
            Some(port) => Some(port_of(port).ok_or_else(|| bad("has a port that is none"))?),
        };
        let host = Host::parse(name).map_err(|fault| bad(&fault.to_string()))?;
        Ok(Site { host, port })
    }

    /// Returns where that is, for a scheme whose usual port is `port`.
    pub(crate) fn destination(&self, port: u16) -> Destination {
        Destination { host: self.host.clone(), port: self.port.unwrap_or(port) }
    }

    /// Returns whether a request for this belongs on a connection to `to`.
    ///
    /// The host's own services are known by many names, all of them local.
    pub(crate) fn is_for(&self, to: &Destination) -> bool {
        self.port.is_none_or(|port| port == to.port)
            && (self.host == to.host || to.host.is_localhost() && is_local(&self.host))
    }
}

/// Returns whether that can only mean the machine that one is on.
pub(crate) fn is_local(host: &Host) -> bool {
    match host {
        Host::Name(name) => name == "localhost" || name.ends_with(".localhost"),
        Host::Address(IpAddr::V4(ip)) => ip.is_loopback() || *ip == HOST_ADDRESS,
        Host::Address(IpAddr::V6(ip)) => ip.is_loopback(),
    }
}

/// Reads a port: digits alone, without a sign or a zero in front.
fn port_of(text: &str) -> Option<u16> {
    let digits = !text.is_empty() && text.len() <= 5 && text.bytes().all(|b| b.is_ascii_digit());
    let plain = digits && !text.starts_with('0');
    plain.then(|| text.parse().ok()).flatten()
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Name(name) => f.write_str(name)?,
            // What stands for the host inside is not known outside.
            Host::Address(IpAddr::V4(ip)) if *ip == HOST_ADDRESS => f.write_str("localhost")?,
            Host::Address(IpAddr::V4(ip)) => write!(f, "{ip}")?,
            Host::Address(IpAddr::V6(ip)) => write!(f, "[{ip}]")?,
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_read_in_one_way() {
        let cases = [
            // as written, as it is sent on
            ("example.org", "example.org"),
            ("EXAMPLE.org:8080", "example.org:8080"),
            ("example.org.", "example.org"),
            ("example.org.:80", "example.org:80"),
            ("192.0.2.1:80", "192.0.2.1:80"),
            ("[2001:DB8::1]:443", "[2001:db8::1]:443"),
            ("[2001:db8:0:0::1]", "[2001:db8::1]"),
            ("host.zonekeep:5432", "localhost:5432"),
            ("198.18.0.1:5432", "localhost:5432"),
        ];
        for (written, sent) in cases {
            let site = Site::parse(written.as_bytes()).unwrap();
            assert_eq!(site.to_string(), sent, "{written}");
        }
        let bad: [&[u8]; 19] = [
            b"",
            b":80",
            b"example.org:",
            b"example.org:0",
            b"example.org:65536",
            b"example.org:+80",
            b"example.org:80:80",
            b"example.org:080",
            b"example.org:080000",
            b"user@example.org",
            b"example.org/x",
            b"example.org,other.org",
            b"example.org other.org",
            b"2001:db8::1",
            b"[2001:db8::1",
            b"[2001:db8::1]80",
            b"0x7f.1",
            b"127.1",
            b"ex\xc3\xa4mple.org",
        ];
        for written in bad {
            let refusal = Site::parse(written).unwrap_err();
            assert_eq!(refusal.reason, Reason::Name, "{}", visible(written));
        }
    }

    #[test]
    fn a_request_stays_with_the_host_that_was_judged() {
        let cases = [
            // Host, connection to, whether it may pass
            ("a.org", "a.org:80", true),
            ("a.org:80", "a.org:80", true),
            ("A.ORG.", "a.org:80", true),
            ("a.org", "a.org:8080", true),
            ("a.org:8080", "a.org:80", false),
            ("b.org", "a.org:80", false),
            ("x.a.org", "a.org:80", false),
            ("localhost", "a.org:80", false),
            ("192.0.2.1", "a.org:80", false),
            ("localhost:5432", "localhost:5432", true),
            ("host.zonekeep:5432", "localhost:5432", true),
            ("app.localhost:5432", "localhost:5432", true),
            ("127.0.0.1:5432", "localhost:5432", true),
            ("[::1]:5432", "localhost:5432", true),
            ("198.18.0.1:5432", "localhost:5432", true),
            ("10.0.0.1:5432", "localhost:5432", false),
            ("a.org:5432", "localhost:5432", false),
            ("10.0.0.1:80", "10.0.0.1:80", true),
            ("a.org", "10.0.0.1:80", false),
        ];
        for (host, to, passes) in cases {
            let (name, port) = to.rsplit_once(':').unwrap();
            let to = Destination { host: Host::parse(name).unwrap(), port: port.parse().unwrap() };
            assert_eq!(Site::parse(host.as_bytes()).unwrap().is_for(&to), passes, "{host} {to}");
        }
    }
}
