//! Where the hosts of a list live inside a sandbox.
//!
//! A program inside connects to an address, and that must tell the gate which
//! name it means. So each name has an address of its own, out of a range that is
//! used nowhere else, and the gate listens at those addresses.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use zonekeep_policy::hosts::{Host, HostPattern, LOCALHOST, NamePattern, PresetHosts, resolvable};
use zonekeep_policy::policy::Network;

/// The address of the host's own services.
pub(crate) const HOST_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);

/// The first address of the range that names live in, and its bits.
const RANGE: (Ipv4Addr, u8) = (Ipv4Addr::new(198, 18, 0, 0), 15);

/// How many names may come to live there beside the ones of the list.
const GUESTS: usize = 4096;

/// After what time nobody connects to an address that a name had: programs keep
/// what they looked up, but not for ever.
const FORGOTTEN: Duration = Duration::from_secs(300);

/// The port of resolvers, and the one that the proxy has if no rule names it.
const RESOLVER: u16 = 53;
const PROXY: u16 = 3128;

/// Commands cannot listen below this port, so a whole one can be taken.
const UNPRIVILEGED: u16 = 1024;

/// More names than this have their port as a whole, not a socket each.
const EACH: usize = 64;

/// What a gate listens on inside a sandbox, and who lives at which address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Where to listen, and whether for datagrams.
    pub sockets: Vec<(SocketAddr, bool)>,
    /// Ranges of addresses that lead to the sandbox itself.
    pub routes: Vec<(IpAddr, u8)>,
    /// The port of the proxy, on the loopback address.
    pub proxy: u16,
    /// The names of the list, from the second address of the range on.
    names: Vec<String>,
    /// Addresses of the list, with their ports.
    addresses: BTreeSet<(IpAddr, u16)>,
    /// Ports of the host's own services.
    local: BTreeSet<u16>,
}

/// Who wants a port, in the order in which addresses are given out.
#[derive(Debug, Default)]
struct Wanted {
    names: BTreeSet<Ipv4Addr>,
    addresses: BTreeSet<IpAddr>,
    local: bool,
    below: bool,
}

impl Wanted {
    fn is_v4(&self) -> bool {
        let addresses = self.addresses.iter().any(IpAddr::is_ipv4);
        self.local || self.below || addresses || !self.names.is_empty()
    }
}

impl Layout {
    /// Returns the layout for a list of hosts.
    pub fn of(network: &Network, presets: &PresetHosts) -> Layout {
        let mut layout = Layout {
            sockets: Vec::new(),
            routes: vec![(RANGE.0.into(), RANGE.1)],
            proxy: PROXY,
            names: Vec::new(),
            addresses: BTreeSet::new(),
            local: BTreeSet::new(),
        };
        let mut ports: BTreeMap<u16, Wanted> = BTreeMap::new();
        for pattern in patterns(network, presets) {
            layout.place(pattern, network, presets, &mut ports);
        }
        while ports.contains_key(&layout.proxy) {
            layout.proxy += 1;
        }
        let here = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        layout.sockets.push((here(RESOLVER), true));
        layout.sockets.push((here(RESOLVER), false));
        layout.sockets.push((here(layout.proxy), false));
        for (port, wanted) in &ports {
            layout.listen(*port, wanted);
        }
        layout
    }

    /// Gives an entry of the list its place, and notes its ports.
    fn place(
        &mut self,
        pattern: &HostPattern,
        network: &Network,
        presets: &PresetHosts,
        ports: &mut BTreeMap<u16, Wanted>,
    ) {
        match &pattern.name {
            NamePattern::Exact(name) if name == LOCALHOST => {
                for port in pattern.ports() {
                    self.local.insert(port);
                    ports.entry(port).or_default().local = true;
                }
            }
            NamePattern::Exact(name) if resolvable(network, presets, name) => {
                let known = self.names.iter().position(|known| known == name);
                let index = known.unwrap_or(self.names.len());
                if known.is_none() {
                    self.names.push(name.clone());
                }
                for port in pattern.ports() {
                    ports.entry(port).or_default().names.extend(address_of(index));
                }
            }
            NamePattern::Below(_) => {
                for port in pattern.ports() {
                    ports.entry(port).or_default().below = true;
                }
            }
            // Where names live, nothing else does; a proxy can still be asked for it.
            NamePattern::Address(ip) if !is_ours(*ip) => {
                for port in pattern.ports() {
                    self.addresses.insert((*ip, port));
                    ports.entry(port).or_default().addresses.insert(*ip);
                }
                let route = (*ip, if ip.is_ipv4() { 32 } else { 128 });
                if !ip.is_loopback() && !self.routes.contains(&route) {
                    self.routes.push(route);
                }
            }
            NamePattern::Exact(_) | NamePattern::Address(_) | NamePattern::Range { .. } => {}
        }
    }

    /// Adds the sockets of a port.
    ///
    /// A whole port is taken where commands cannot use it anyway, and where names
    /// are not known beforehand. Otherwise they keep it at all other addresses.
    fn listen(&mut self, port: u16, wanted: &Wanted) {
        let many = wanted.below || wanted.names.len() > EACH || port < UNPRIVILEGED;
        // The resolver has that port already, so nobody can have the whole.
        let whole = many && port != RESOLVER && wanted.is_v4();
        let mut at: BTreeSet<IpAddr> = wanted.addresses.clone();
        if whole {
            at.retain(IpAddr::is_ipv6);
            at.insert(Ipv4Addr::UNSPECIFIED.into());
        } else {
            at.extend(wanted.names.iter().copied().map(IpAddr::V4));
        }
        if wanted.local {
            at.insert(Ipv6Addr::LOCALHOST.into());
            if !whole {
                at.extend([HOST_ADDRESS, Ipv4Addr::LOCALHOST].map(IpAddr::V4));
            }
        }
        for ip in at {
            let socket = (SocketAddr::new(ip, port), false);
            if !self.sockets.contains(&socket) {
                self.sockets.push(socket);
            }
        }
    }
}

/// Returns the entries that allow something.
fn patterns<'a>(
    network: &'a Network,
    presets: &'a PresetHosts,
) -> impl Iterator<Item = &'a HostPattern> {
    let hosts = match network {
        Network::Hosts(hosts) => Some(hosts),
        Network::Off | Network::On => None,
    };
    hosts.into_iter().flat_map(|hosts| {
        let given = hosts.presets.iter().filter_map(|preset| presets.get(&preset.value)).flatten();
        hosts.allow.iter().map(|allowed| &allowed.value).chain(given)
    })
}

/// Returns whether an address is one that names live at.
fn is_ours(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V4(ip) if ip.to_bits() >> 17 == RANGE.0.to_bits() >> 17)
}

/// Returns the address of a name by its place.
fn address_of(index: usize) -> Option<Ipv4Addr> {
    let offset = u32::try_from(index).ok()?.checked_add(1)?;
    let address = Ipv4Addr::from_bits(HOST_ADDRESS.to_bits().checked_add(offset)?);
    is_ours(address.into()).then_some(address)
}

/// Who lives where, while a sandbox runs: the names of the list, and those that
/// came to be asked for.
#[derive(Debug)]
pub(crate) struct Names {
    listed: usize,
    by_index: Vec<Resident>,
    by_name: HashMap<String, usize>,
    addresses: BTreeSet<(IpAddr, u16)>,
    local: BTreeSet<u16>,
}

/// A name at its address.
#[derive(Debug)]
struct Resident {
    name: String,
    /// When it was last asked for, or connected to.
    used: Instant,
}

impl Names {
    pub(crate) fn of(layout: &Layout) -> Names {
        let used = Instant::now();
        let resident = |name: &String| Resident { name: name.clone(), used };
        Names {
            listed: layout.names.len(),
            by_name: layout.names.iter().cloned().zip(0..).collect(),
            by_index: layout.names.iter().map(resident).collect(),
            addresses: layout.addresses.clone(),
            local: layout.local.clone(),
        }
    }

    /// Returns where a name lives that may live here; `None` when all is full.
    pub(crate) fn address(&mut self, name: &str) -> Option<Ipv4Addr> {
        self.address_at(name, Instant::now())
    }

    fn address_at(&mut self, name: &str, now: Instant) -> Option<Ipv4Addr> {
        if name == LOCALHOST {
            return Some(HOST_ADDRESS);
        }
        if let Some(&index) = self.by_name.get(name) {
            self.by_index[index].used = now;
            return address_of(index);
        }
        let index = self.place(now)?;
        let address = address_of(index)?;
        let resident = Resident { name: name.to_owned(), used: now };
        match self.by_index.get_mut(index) {
            None => self.by_index.push(resident),
            Some(place) => {
                let before = std::mem::replace(place, resident);
                self.by_name.remove(&before.name);
            }
        }
        self.by_name.insert(name.to_owned(), index);
        Some(address)
    }

    /// Returns a place for a guest: a new one, or that of the guest whom nobody
    /// has asked for the longest, and for so long that nobody knows its address
    /// any more.
    fn place(&self, now: Instant) -> Option<usize> {
        if self.by_index.len() - self.listed < GUESTS {
            return Some(self.by_index.len());
        }
        let guests = self.by_index.iter().enumerate().skip(self.listed);
        let (index, oldest) = guests.min_by_key(|(_, guest)| guest.used)?;
        (now.saturating_duration_since(oldest.used) >= FORGOTTEN).then_some(index)
    }

    /// Returns who lives at an address.
    pub(crate) fn who(&mut self, at: SocketAddr) -> Option<Host> {
        let ip = at.ip().to_canonical();
        let own = ip == IpAddr::V4(HOST_ADDRESS);
        let loopback = ip == IpAddr::V4(Ipv4Addr::LOCALHOST) || ip == Ipv6Addr::LOCALHOST;
        if own || loopback && self.local.contains(&at.port()) {
            return Some(Host::Name(LOCALHOST.to_owned()));
        }
        if let IpAddr::V4(ip) = ip
            && is_ours(ip.into())
        {
            let offset = ip.to_bits().checked_sub(HOST_ADDRESS.to_bits() + 1)?;
            let resident = self.by_index.get_mut(usize::try_from(offset).ok()?)?;
            resident.used = Instant::now();
            return Some(Host::Name(resident.name.clone()));
        }
        self.addresses.contains(&(ip, at.port())).then_some(Host::Address(ip))
    }
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
