//! What kind of address an address is, and which ones a permit may lead to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is not reached unless the list names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Unspecified,
    Multicast,
    Broadcast,
    Loopback,
    Metadata,
    Private,
    Shared,
    LinkLocal,
    SiteLocal,
    Benchmarking,
    Reserved,
}

impl Kind {
    /// Returns the word for it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Kind::Unspecified => "unspecified",
            Kind::Multicast => "multicast",
            Kind::Broadcast => "broadcast",
            Kind::Loopback => "loopback",
            Kind::Metadata => "metadata",
            Kind::Private => "private",
            Kind::Shared => "shared",
            Kind::LinkLocal => "link-local",
            Kind::SiteLocal => "site-local",
            Kind::Benchmarking => "benchmarking",
            Kind::Reserved => "reserved",
        }
    }

    /// Returns whether nobody can be reached there, whatever a list says.
    pub(super) fn is_nobody(self) -> bool {
        matches!(self, Kind::Unspecified | Kind::Multicast | Kind::Broadcast)
    }
}

/// Where clouds tell machines their credentials.
const METADATA_V4: [Ipv4Addr; 6] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
];
const METADATA_V6: [Ipv6Addr; 3] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];

/// Returns whether an address is reached only where a list names it itself, and
/// never because it lies in a listed range.
pub(super) fn only_by_itself(address: IpAddr) -> bool {
    let strict = |form| matches!(kind_of_form(form), Some(Kind::Loopback | Kind::Metadata));
    forms(address).into_iter().any(strict)
}

/// Returns what makes an address one that is not reached unless a list names it;
/// addresses inside it count too.
pub(super) fn kind(address: IpAddr) -> Option<Kind> {
    let kinds = forms(address).into_iter().filter_map(kind_of_form);
    // What is strictest is said, so that a range cannot hide a metadata service.
    kinds.min_by_key(|kind| match kind {
        kind if kind.is_nobody() => 0,
        Kind::Metadata | Kind::Loopback => 1,
        _ => 2,
    })
}

/// Returns an address and the IPv4 addresses that it carries.
pub(super) fn forms(address: IpAddr) -> Vec<IpAddr> {
    let address = address.to_canonical();
    let mut forms = vec![address];
    if let IpAddr::V6(v6) = address {
        forms.extend(carried(v6).into_iter().map(IpAddr::V4));
    }
    forms
}

/// Returns the IPv4 addresses that packets to an IPv6 address may end up at.
fn carried(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    let v4 = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        // Compatible, but for the two addresses that mean something else.
        [0, 0, 0, 0, 0, 0, high, low] if (high, low) > (0, 1) => vec![v4(high, low)],
        // Translated, and NAT64.
        [0, 0, 0, 0, 0xffff, 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            vec![v4(high, low)]
        }
        // 6to4.
        [0x2002, high, low, ..] => vec![v4(high, low)],
        // Teredo: the server, and the client turned over.
        [0x2001, 0, server, end, _, _, high, low] => vec![v4(server, end), v4(!high, !low)],
        // ISATAP.
        [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => vec![v4(high, low)],
        _ => Vec::new(),
    }
}

fn kind_of_form(address: IpAddr) -> Option<Kind> {
    match address {
        IpAddr::V4(v4) => kind_of_v4(v4),
        IpAddr::V6(v6) => kind_of_v6(v6),
    }
}

fn kind_of_v4(address: Ipv4Addr) -> Option<Kind> {
    Some(match address.octets() {
        _ if METADATA_V4.contains(&address) => Kind::Metadata,
        [0, 0, 0, 0] => Kind::Unspecified,
        [255, 255, 255, 255] => Kind::Broadcast,
        [127, ..] => Kind::Loopback,
        [10, ..] | [192, 168, ..] | [172, 16..=31, ..] => Kind::Private,
        [100, 64..=127, ..] => Kind::Shared,
        [169, 254, ..] => Kind::LinkLocal,
        [198, 18..=19, ..] => Kind::Benchmarking,
        [224..=239, ..] => Kind::Multicast,
        // What stands for this network, for protocols, for relays and for nothing yet.
        [0, ..] | [192, 0, 0, _] | [192, 88, 99, _] | [240..=255, ..] => Kind::Reserved,
        _ => return None,
    })
}

fn kind_of_v6(address: Ipv6Addr) -> Option<Kind> {
    Some(match address.segments() {
        _ if METADATA_V6.contains(&address) => Kind::Metadata,
        _ if address.is_unspecified() => Kind::Unspecified,
        _ if address.is_loopback() => Kind::Loopback,
        [0xff00..=0xffff, ..] => Kind::Multicast,
        [0xfe80..=0xfebf, ..] => Kind::LinkLocal,
        [0xfec0..=0xfeff, ..] => Kind::SiteLocal,
        [0xfc00..=0xfdff, ..] => Kind::Private,
        // A translator of this network alone.
        [0x64, 0xff9b, 1, ..] => Kind::Private,
        [0x2001, 2, 0, ..] => Kind::Benchmarking,
        // These are judged by what they carry.
        [0, 0, 0, 0, 0, 0, ..] | [0, 0, 0, 0, 0xffff, 0, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => {
            return None;
        }
        [0x2000..=0x3fff, ..] => return None,
        _ => Kind::Reserved,
    })
}
