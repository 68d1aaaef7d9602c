//! Makes the connections that were judged.
//!
//! A name is looked up once, every address that it leads to is checked, and one
//! of those that passed is dialled: nobody can answer differently in between.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use zonekeep_policy::hosts::{ConnectPermit, Destination, Host, NamePattern};
use zonekeep_policy::limit::Limits;
use zonekeep_policy::policy::Network;

use crate::account::{Account, Meter};
use crate::event::{Event, Reason, Refusal};
use crate::gate::Desk;
use crate::workers::Workers;

/// How long a name, an address and all of it may take.
const LOOKUP: Duration = Duration::from_secs(10);
const EACH: Duration = Duration::from_secs(10);
const ALL: Duration = Duration::from_secs(30);

/// The most addresses of a name that are tried.
const ADDRESSES: usize = 16;

/// What dialling needs to know.
pub(crate) struct Dialer<'d> {
    pub(crate) network: &'d Network,
    pub(crate) limits: &'d Limits,
    pub(crate) account: &'d Arc<Account>,
    pub(crate) desk: &'d Arc<dyn Desk>,
    pub(crate) workers: &'d Workers,
}

/// A connection that was made, and its record.
pub(crate) struct Line {
    pub(crate) stream: TcpStream,
    pub(crate) record: Record,
}

/// What is reported of a connection; its end when this is dropped.
pub(crate) struct Record {
    pub(crate) meter: Meter,
    to: Destination,
    address: SocketAddr,
    desk: Arc<dyn Desk>,
}

impl Drop for Record {
    fn drop(&mut self) {
        let (out, into) = self.meter.passed();
        let (to, address) = (self.to.clone(), self.address);
        self.desk.tell(&Event::Closed { to, address, out, into, millis: self.meter.millis() });
    }
}

impl Dialer<'_> {
    /// Makes the connection that a permit is for.
    pub(crate) async fn dial(&self, permit: &ConnectPermit) -> Result<Line, Refusal> {
        let to = permit.to();
        // Whoever serves a name sees that it is looked up, so that counts too.
        self.account.connect(self.limits)?;
        let found = self.addresses(to).await?;
        let addresses = self.checked(permit, found)?;
        let stream = connect(to, &addresses).await?;
        let _ = stream.set_nodelay(true);
        let address = stream.peer_addr().map_err(|error| unreachable(to, &error))?;
        let start = stream.local_addr().map_err(|error| unreachable(to, &error))?;
        // An address may have become the machine's own since it was checked.
        if self.minds_own(to) && ends_here(start.ip(), address.ip()) && !self.lists(address) {
            return Err(leads_to(to, OWN));
        }
        self.desk.tell(&Event::Connected { to: to.clone(), address });
        let meter = Meter::new(self.account, self.limits);
        let desk = Arc::clone(self.desk);
        Ok(Line { stream, record: Record { meter, to: to.clone(), address, desk } })
    }

    /// Looks a destination up, once.
    async fn addresses(&self, to: &Destination) -> Result<Vec<SocketAddr>, Refusal> {
        let at = |ip: IpAddr| SocketAddr::new(ip, to.port);
        let name = match &to.host {
            host if host.is_localhost() => {
                return Ok(vec![at(Ipv4Addr::LOCALHOST.into()), at(Ipv6Addr::LOCALHOST.into())]);
            }
            Host::Address(ip) => return Ok(vec![at(*ip)]),
            Host::Name(name) => name.clone(),
        };
        match timeout(LOOKUP, self.workers.run(move || look_up(&name))).await {
            Ok(Some(Ok(found))) if !found.is_empty() => Ok(found.into_iter().map(at).collect()),
            Ok(Some(Err(error))) if no_files_left(&error) => Err(unreachable(to, &error)),
            _ => Err(unknown(to)),
        }
    }

    /// Returns the addresses that may be dialled, or why there are none.
    fn checked(
        &self,
        permit: &ConnectPermit,
        found: Vec<SocketAddr>,
    ) -> Result<Vec<SocketAddr>, Refusal> {
        let mut refused = None;
        let mut addresses = Vec::new();
        for address in found {
            // Another form of the same address must not be judged differently.
            let address = SocketAddr::new(address.ip().to_canonical(), address.port());
            match self.may_dial(permit, address) {
                Ok(()) if addresses.contains(&address) => {}
                Ok(()) => addresses.push(address),
                Err(why) => refused = refused.or(Some(why)),
            }
        }
        addresses.truncate(ADDRESSES);
        match addresses.is_empty() {
            false => Ok(addresses),
            true => Err(refused.unwrap_or_else(|| unknown(permit.to()))),
        }
    }

    fn may_dial(&self, permit: &ConnectPermit, address: SocketAddr) -> Result<(), Refusal> {
        let to = permit.to();
        permit.may_dial(address.ip()).map_err(|why| leads_to(to, why))?;
        if !self.minds_own(to) || self.lists(address) {
            return Ok(());
        }
        match is_own(address.ip()) {
            Ok(false) => Ok(()),
            Ok(true) => Err(leads_to(to, OWN)),
            // It may be one.
            Err(error) => Err(unreachable(to, &error)),
        }
    }

    /// Returns whether a destination must not lead to this machine: a name that
    /// is not its own, unless everything may be reached.
    fn minds_own(&self, to: &Destination) -> bool {
        let listed = matches!(self.network, Network::Hosts(_));
        listed && matches!(to.host, Host::Name(_)) && !to.host.is_localhost()
    }

    /// Returns whether an address is on the list by itself.
    fn lists(&self, address: SocketAddr) -> bool {
        let Network::Hosts(hosts) = &self.network else { return false };
        hosts.allow.iter().any(|allowed| {
            allowed.value.has_port(address.port())
                && allowed.value.name == NamePattern::Address(address.ip())
        })
    }
}

/// Where the machine's own names are.
const HOSTS: &str = "/etc/hosts";

/// Looks a name up, as it is: what this machine adds to names that are not found
/// would lead to another host. It blocks.
///
/// With a dot at its end a name is whole, but files do not have it in that form.
fn look_up(name: &str) -> io::Result<Vec<IpAddr>> {
    let file = match std::fs::read(HOSTS) {
        // Elsewhere the name may lead somewhere else.
        Err(error) if no_files_left(&error) => return Err(error),
        file => file.unwrap_or_default(),
    };
    let known = in_hosts_file(&String::from_utf8_lossy(&file), name);
    if !known.is_empty() {
        return Ok(known);
    }
    let whole = format!("{name}.");
    Ok((whole.as_str(), 0).to_socket_addrs()?.map(|address| address.ip()).collect())
}

/// Returns the addresses that a file of names has for one.
fn in_hosts_file(text: &str, name: &str) -> Vec<IpAddr> {
    let line = |line: &str| {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_ascii_whitespace();
        let address = words.next()?.parse().ok()?;
        words.any(|word| word.eq_ignore_ascii_case(name)).then_some(address)
    };
    text.lines().filter_map(line).collect()
}

/// What an address of this machine is called.
const OWN: &str = "this machine's own";

fn leads_to(to: &Destination, why: &str) -> Refusal {
    let why = format!("Cannot connect to '{to}': it leads to an address that is {why}");
    Refusal::new(Reason::Address, format!("{why}, and not listed itself."))
}

/// Returns whether an address is one of this machine's, if that can be known.
///
/// A socket can be bound to those alone, unless the system lets any address be
/// bound; then the way there tells.
fn is_own(ip: IpAddr) -> io::Result<bool> {
    match UdpSocket::bind((ip, 0)) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::AddrNotAvailable => return Ok(false),
        Err(error) => return Err(error),
    }
    let any: IpAddr = match ip {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0))?;
    // Nothing is sent: this only chooses the way.
    socket.connect((ip, 9))?;
    Ok(ends_here(socket.local_addr()?.ip(), ip))
}

/// Returns whether a way does not leave the machine: it starts where it ends, or
/// at a loopback address.
fn ends_here(start: IpAddr, end: IpAddr) -> bool {
    let start = start.to_canonical();
    start == end.to_canonical() || start.is_loopback()
}

/// Dials one address after the other.
async fn connect(to: &Destination, addresses: &[SocketAddr]) -> Result<TcpStream, Refusal> {
    let end = Instant::now() + ALL;
    let mut last = io::Error::from(ErrorKind::TimedOut);
    for address in addresses {
        let each = (Instant::now() + EACH).min(end);
        match timeout_at(each, TcpStream::connect(address)).await {
            Ok(Ok(stream)) if is_itself(&stream) => last = ErrorKind::ConnectionRefused.into(),
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = error,
            Err(_) => last = ErrorKind::TimedOut.into(),
        }
    }
    Err(unreachable(to, &last))
}

/// Returns whether a connection has met itself, as may happen where nobody
/// listens on a port that the system gives out.
fn is_itself(stream: &TcpStream) -> bool {
    matches!((stream.local_addr(), stream.peer_addr()), (Ok(a), Ok(b)) if a == b)
}

fn unknown(to: &Destination) -> Refusal {
    let why = format!("Cannot connect to '{to}': the name could not be found.");
    Refusal::new(Reason::Unreachable, why)
}

fn unreachable(to: &Destination, error: &io::Error) -> Refusal {
    let why = match error.kind() {
        _ if no_files_left(error) => "too many files are open",
        ErrorKind::ConnectionRefused => "nobody listens there",
        ErrorKind::TimedOut => "it does not answer",
        ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable => "there is no way there",
        ErrorKind::ConnectionReset => "it closed the connection",
        _ => "the connection could not be made",
    };
    Refusal::new(Reason::Unreachable, format!("Cannot connect to '{to}': {why}."))
}

/// Returns whether an error is that there are no descriptors left.
fn no_files_left(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

#[cfg(test)]
mod tests {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use zonekeep_policy::hosts::{ConnectVerdict, HostPattern, Hosts, PresetHosts, judge_connect};
    use zonekeep_policy::policy::Consent;
    use zonekeep_policy::source::Ruled;

    use super::*;
    use crate::gate::Refused;

    #[test]
    fn the_machines_own_addresses_are_known() {
        assert!(is_own(Ipv4Addr::LOCALHOST.into()).unwrap());
        assert!(is_own(Ipv4Addr::new(127, 9, 9, 9).into()).unwrap());
        for other in ["192.0.2.1", "203.0.113.9", "2001:db8::1"] {
            assert!(!is_own(other.parse().unwrap()).unwrap(), "{other}");
        }
    }

    #[test]
    fn names_of_the_machine_are_found_in_its_file() {
        let text = "127.0.0.1 localhost\n# 192.0.2.9 a.test\n192.0.2.1\tx A.test #b.test\r\n\
                    2001:db8::1 a.test\nfe80::1%lo a.test\nnonsense a.test\n192.0.2.2 a.test.evil\n";
        let found = |name: &str| {
            let found = in_hosts_file(text, name);
            found.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(found("a.test"), "192.0.2.1 2001:db8::1");
        assert_eq!(found("b.test"), "");
        assert_eq!(found("192.0.2.1"), "");
        assert_eq!(look_up("localhost").unwrap().first().map(IpAddr::is_loopback), Some(true));
    }

    #[test]
    fn a_way_that_ends_here_is_known() {
        let cases = [
            ("203.0.113.1", "203.0.113.1", true),
            ("127.0.0.1", "203.0.113.1", true),
            ("::1", "2001:db8::1", true),
            ("::ffff:203.0.113.1", "203.0.113.1", true),
            ("203.0.113.2", "203.0.113.1", false),
        ];
        for (start, end, here) in cases {
            assert_eq!(ends_here(start.parse().unwrap(), end.parse().unwrap()), here, "{start}");
        }
    }

    fn permit(allow: &[&str], to: &str) -> (Network, ConnectPermit) {
        let pattern = |text: &&str| Ruled::default_of(HostPattern::parse(text).unwrap());
        let allow = allow.iter().map(pattern).collect();
        let network = Network::Hosts(Hosts { allow, ..Hosts::default() });
        let consent = Ruled::default_of(Consent::Tool);
        let to = Destination::parse(to).unwrap();
        match judge_connect(&network, &PresetHosts::new(), &consent, &to).verdict {
            ConnectVerdict::Allow(permit) => (network, permit),
            other => panic!("{other:?}"),
        }
    }

    struct Nobody;

    impl Desk for Nobody {
        fn ask(&self, _: &zonekeep_policy::hosts::ConnectQuestion) -> Result<(), Refused> {
            Ok(())
        }
        fn tell(&self, _: &Event) {}
    }

    #[tokio::test]
    async fn a_name_is_not_looked_up_for_a_connection_too_many() {
        // Nobody looks names up here, so the first waits.
        let (account, workers) = (Arc::default(), Workers::start(0).unwrap());
        let limits = Limits { connections: Some(1), ..Limits::none() };
        let desk: Arc<dyn Desk> = Arc::new(Nobody);
        let (network, permit) = permit(&["*.a.test"], "data.a.test:443");
        let dialer = Dialer {
            network: &network,
            limits: &limits,
            account: &account,
            desk: &desk,
            workers: &workers,
        };
        let mut first = std::pin::pin!(dialer.dial(&permit));
        assert!(timeout(Duration::from_millis(10), &mut first).await.is_err());
        let second = timeout(Duration::from_secs(5), dialer.dial(&permit)).await.unwrap();
        assert_eq!(second.err().unwrap().reason, Reason::Limit);
        assert_eq!(account.used().connections, 1);
    }

    /// Returns the addresses that are dialled out of those that were found, or
    /// why there are none.
    fn dialled(allow: &[&str], to: &str, found: &[&str]) -> String {
        let (account, workers) = (Arc::default(), Workers::start(0).unwrap());
        let (limits, desk): (_, Arc<dyn Desk>) = (Limits::none(), Arc::new(Nobody));
        let (network, permit) = permit(allow, to);
        let dialer = Dialer {
            network: &network,
            limits: &limits,
            account: &account,
            desk: &desk,
            workers: &workers,
        };
        let port = permit.to().port;
        let found = found.iter().map(|ip| SocketAddr::new(ip.parse().unwrap(), port)).collect();
        match dialer.checked(&permit, found) {
            Ok(addresses) => {
                let all: Vec<_> = addresses.iter().map(|at| at.ip().to_string()).collect();
                all.join(" ")
            }
            Err(refusal) => refusal.detail,
        }
    }

    #[test]
    fn only_checked_addresses_are_dialled() {
        let cases: [(&[&str], &str, &[&str], &str); 9] = [
            // allowed, wanted, found, what is dialled
            (&["a.test"], "a.test:443", &["192.0.2.1", "2001:db8::1"], "192.0.2.1 2001:db8::1"),
            (&["a.test"], "a.test:443", &["127.0.0.1", "10.0.0.1", "192.0.2.1"], "192.0.2.1"),
            (&["a.test"], "a.test:443", &["::ffff:192.0.2.1", "192.0.2.1"], "192.0.2.1"),
            (&["a.test"], "a.test:443", &["::ffff:127.0.0.1"], "loopback"),
            (&["a.test"], "a.test:443", &["169.254.169.254"], "metadata"),
            (&["a.test"], "a.test:443", &[], "could not be found"),
            (&["a.test", "10.0.0.0/8"], "a.test:443", &["10.0.0.1"], "10.0.0.1"),
            (&["a.test", "127.0.0.7"], "a.test:443", &["127.0.0.7"], "127.0.0.7"),
            (&["localhost:80"], "localhost:80", &["192.0.2.1", "127.0.0.1"], "127.0.0.1"),
        ];
        for (allow, to, found, want) in cases {
            let got = dialled(allow, to, found);
            assert!(got == want || got.contains("Cannot") && got.contains(want), "{to}: {got}");
        }
    }

    /// Whether an address is the machine's own is found out with a socket: where
    /// there is none to be had, nothing is dialled.
    #[test]
    fn without_descriptors_no_address_passes_the_check() {
        const ALONE: &str = "ZONEKEEP_TEST_ALONE";
        if std::env::var_os(ALONE).is_none() {
            // The limit is one of the whole process, so this one is left alone.
            let name = "dial::tests::without_descriptors_no_address_passes_the_check";
            let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
            let ended = alone.args(["--exact", name]).env(ALONE, "1").output().unwrap();
            let said = String::from_utf8_lossy(&ended.stdout);
            assert!(ended.status.success() && said.contains("1 passed"), "{said}");
            return;
        }
        let other = || dialled(&["a.test"], "a.test:443", &["192.0.2.1"]);
        assert_eq!(other(), "192.0.2.1");
        let before = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(0), ..before }).unwrap();
        let (other_then, name_then) = (other(), look_up("localhost"));
        setrlimit(Resource::Nofile, before).unwrap();
        assert_eq!(other_then, "Cannot connect to 'a.test:443': too many files are open.");
        assert!(name_then.is_err(), "{name_then:?}");
        assert_eq!(other(), "192.0.2.1", "and then there are some again");
    }
}
