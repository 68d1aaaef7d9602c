//! The sockets inside that the caller answers at, and the addresses that lead
//! to them.
//!
//! They are made before anything of the sandbox's runs, by who still holds the
//! rights for it, and handed to the caller at once: no process inside keeps one.

use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use rustix::process::{Pid, WaitOptions};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::routes::Routes;
use super::{Trouble, Try, attempt};
use crate::plan::{Gateway, Listen, Plan};
use crate::sys::{self, Side};
use crate::wire::{self, Built, MAX_FDS};

/// How many connections may wait until the caller answers: as many as the
/// kernel allows where nobody has changed that.
const WAITING: i32 = 4096;

/// Fails where a plan has sockets for a network of its own, and its backend
/// makes none.
pub(super) fn fits(plan: &Plan) -> Result<(), Trouble> {
    let wants = |gateway: &Gateway| !gateway.sockets.is_empty() || !gateway.routes.is_empty();
    let wants = plan.network.gateway().is_some_and(wants) || plan.dialers > 0;
    match !plan.backend.has_own_tree() && wants {
        true => {
            let why = format!("{} has no network of its own", plan.backend);
            Err(Trouble::new("open the gateway", io::Error::other(why)))
        }
        false => Ok(()),
    }
}

/// Where a network says how its connections find out what they may send at once.
const PACE: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// Makes the routes and sockets that a plan has in the network of this process,
/// and sends the sockets to the caller: those of the gateway, and those that connect to
/// servers in here, wherever they are used.
pub(super) fn hand_out(plan: &Plan, caller: &UnixStream) -> Result<(), Trouble> {
    let none = Gateway::default();
    let gateway = plan.network.gateway().unwrap_or(&none);
    if plan.network.gateway().is_none() && plan.dialers == 0 {
        return Ok(());
    }
    // What the machine uses may hold back bytes for the sake of routers, and
    // there are none in here. Where that cannot be said, it is slower.
    let _ = fs::write(PACE, "reno");
    let has_v6 = has_v6();
    let in_use = |address: &IpAddr| has_v6 || address.is_ipv4();
    if !gateway.routes.is_empty() {
        let routes = Routes::open().during(|| "ask for routes".to_owned())?;
        for route in gateway.routes.iter().filter(|route| in_use(&route.base)) {
            let what = || format!("have a route to {}/{}", route.base, route.bits);
            routes.add(route).during(what)?;
        }
    }
    for part in gateway.sockets.chunks(MAX_FDS) {
        let mut sockets = Vec::new();
        for listen in part {
            let listen = if in_use(&listen.at.ip()) { *listen } else { nowhere(listen) };
            let what = || format!("listen on {}", listen.at);
            sockets.push(open(&listen).during(what)?);
        }
        let sockets: Vec<BorrowedFd<'_>> = sockets.iter().map(AsFd::as_fd).collect();
        wire::send(caller, &Built::Sockets, &sockets)
            .during(|| "hand out the sockets of the gateway".to_owned())?;
    }
    let families = [false, true].map(|v6| v6 && has_v6);
    let families = families.into_iter().cycle().take(2 * usize::from(plan.dialers));
    let families: Vec<bool> = families.collect();
    for part in families.chunks(MAX_FDS) {
        let sockets = part.iter().map(|v6| dialer(*v6)).collect::<io::Result<Vec<_>>>();
        let sockets =
            sockets.during(|| "make sockets that connect to servers inside".to_owned())?;
        let sockets: Vec<BorrowedFd<'_>> = sockets.iter().map(AsFd::as_fd).collect();
        wire::send(caller, &Built::Sockets, &sockets)
            .during(|| "hand out sockets that connect to servers inside".to_owned())?;
    }
    Ok(())
}

/// Returns a socket that connects to one of the loopbacks of this network.
fn dialer(v6: bool) -> io::Result<OwnedFd> {
    let family = if v6 { AddressFamily::INET6 } else { AddressFamily::INET };
    let (kind, flags) = (SocketType::STREAM, SocketFlags::CLOEXEC);
    Ok(rustix::net::socket_with(family, kind, flags, None)?)
}

/// Does the same in the network of another process, the first one of a tree
/// that another program made.
///
/// A process inside would need rights over that network, which not every system
/// leaves it. Who had it made has them from outside, as the owner of the user
/// namespace that it belongs to.
pub(crate) fn hand_out_inside(first: Pid, plan: &Plan, caller: &UnixStream) -> Result<(), Trouble> {
    let what = || "open the gateway".to_owned();
    let (words, own) = UnixStream::pair().during(what)?;
    // Whoever enters does not come back.
    match attempt(what, sys::fork)? {
        Side::Child => {
            drop(words);
            let done = enter_network(first)
                .during(|| "enter the network of the sandbox".to_owned())
                .and_then(|()| hand_out(plan, caller));
            if let Err(trouble) = &done {
                trouble.tell(&own);
            }
            sys::exit(i32::from(done.is_err()))
        }
        Side::Parent(pid) => {
            drop(own);
            let told = wire::receive::<Built>(&words);
            let wait = || rustix::process::waitpid(Some(pid), WaitOptions::empty());
            let ended = rustix::io::retry_on_intr(wait).during(what)?;
            match told {
                Ok(Some((Built::Failed { step, errno, why }, _))) => {
                    Err(Trouble::told(step, errno, why))
                }
                _ if ended.is_some_and(|(_, status)| status.exit_status() == Some(0)) => Ok(()),
                _ => Err(Trouble::new(what(), io::ErrorKind::UnexpectedEof.into())),
            }
        }
    }
}

/// Moves this process into the network of another one, with every right in it.
/// Fails where that is the network that it is in.
fn enter_network(of: Pid) -> io::Result<()> {
    let network = File::open(format!("/proc/{}/ns/net", of.as_raw_nonzero()))?;
    let owner = sys::owner_of(network.as_fd())?;
    move_into_link_name_space(owner.as_fd(), Some(LinkNameSpaceType::User))?;
    Ok(move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Returns whether there is IPv6 here. Not every kernel has it.
fn has_v6() -> bool {
    let at = SocketAddr::from((Ipv6Addr::LOCALHOST, 0));
    open(&Listen { at, udp: true }).is_ok()
}

/// Returns a socket that nobody knows the address of, to keep the place of one
/// that cannot be had.
fn nowhere(listen: &Listen) -> Listen {
    Listen { at: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), ..*listen }
}

fn open(listen: &Listen) -> io::Result<OwnedFd> {
    let family = match listen.at {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let kind = if listen.udp { SocketType::DGRAM } else { SocketType::STREAM };
    let socket = rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
    if listen.at.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
        // A route alone does not make an address one to listen at, as for IPv4.
        sockopt::set_ipv6_freebind(&socket, true)?;
    }
    if listen.udp {
        // Two that both share an address could take each other's messages.
        rustix::net::bind(&socket, &listen.at)?;
    } else {
        sockopt::set_socket_reuseaddr(&socket, true)?;
        rustix::net::bind(&socket, &listen.at)?;
        rustix::net::listen(&socket, WAITING)?;
    }
    Ok(socket)
}
