//! Ports of the host's loopback that lead to servers inside a sandbox.
//!
//! The sockets that connect to the servers were made in the network of the sandbox, before a
//! command ran there, and only this process holds them. So connections begin outside and
//! nowhere else: nothing inside can use this road in the other direction.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::net::AddressFamily;

/// How many connections are carried at once; further ones wait.
pub(super) const DIALERS: u16 = 32;
/// How often a connection that waits looks whether the sandbox has ended.
const LOOK: Duration = Duration::from_millis(200);

/// A port of the host's loopback, and the port inside that it leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Port {
    /// The port of 127.0.0.1 on the host.
    pub host: u16,
    /// The port of the loopback inside.
    pub inside: u16,
}

/// Ports that are listened on, until a sandbox stands behind them.
#[derive(Debug)]
pub(super) struct Listening(Vec<(TcpListener, u16)>);

impl Listening {
    /// Listens on the ports of the host; fails with the port that cannot be had.
    pub(super) fn open(ports: &[Port]) -> Result<Self, (u16, io::Error)> {
        let listen = |port: &Port| {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.host));
            Ok((listener.map_err(|error| (port.host, error))?, port.inside))
        };
        Ok(Listening(ports.iter().map(listen).collect::<Result<_, _>>()?))
    }

    /// Carries connections from now on, by sockets of the sandbox's network.
    pub(super) fn lead_to(self, dialers: Vec<OwnedFd>) -> io::Result<Forward> {
        let ends = self.0.iter().map(|(listener, _)| listener.local_addr());
        let ends = ends.collect::<io::Result<Vec<_>>>()?;
        let mut dialers = dialers.into_iter();
        let pairs = std::iter::from_fn(|| Some([dialers.next()?, dialers.next()?]));
        let pool = Arc::new(Pool { free: Mutex::new(pairs.collect()), ..Pool::default() });
        for (listener, inside) in self.0 {
            let pool = Arc::clone(&pool);
            let accept = move || accept(&listener, inside, &pool);
            thread::Builder::new().name("port".to_owned()).spawn(accept)?;
        }
        Ok(Forward { pool, ends })
    }
}

/// Ports that lead into a sandbox; closed when it is dropped.
#[derive(Debug)]
pub(super) struct Forward {
    pool: Arc<Pool>,
    ends: Vec<SocketAddr>,
}

impl Drop for Forward {
    fn drop(&mut self) {
        self.pool.closed.store(true, Ordering::Relaxed);
        for end in &self.ends {
            // Wakes the thread that waits for a connection.
            let _ = TcpStream::connect_timeout(end, LOOK);
        }
    }
}

/// Two sockets of the sandbox's network, one for each of its loopbacks. A single socket
/// cannot be for both: one that was refused by IPv4 does not connect by IPv6 any more.
type Dialer = [OwnedFd; 2];

/// Sockets of the sandbox's network that are in no connection.
#[derive(Debug, Default)]
struct Pool {
    free: Mutex<Vec<Dialer>>,
    given: Condvar,
    closed: AtomicBool,
}

impl Pool {
    /// Waits for a free socket; `None` once the ports are closed.
    fn take(&self) -> Option<Dialer> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if self.closed.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(dialer) = free.pop() {
                return Some(dialer);
            }
            let waited = self.given.wait_timeout(free, LOOK);
            free = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn give(&self, dialer: Dialer) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(dialer);
        self.given.notify_one();
    }
}

fn accept(listener: &TcpListener, inside: u16, pool: &Arc<Pool>) {
    loop {
        let accepted = listener.accept();
        let Some(dialer) = pool.take() else { return };
        let Ok((outer, _)) = accepted else {
            pool.give(dialer);
            // Such as too many open files.
            thread::sleep(LOOK);
            continue;
        };
        let given = Arc::clone(pool);
        let carry = move || given.give(carry(&outer, dialer, inside));
        // A connection without a thread is closed, and its socket with it.
        let _ = thread::Builder::new().name("forward".to_owned()).spawn(carry);
    }
}

/// Carries one connection; returns the sockets, which are in none any more.
fn carry(outer: &TcpStream, dialer: Dialer, inside: u16) -> Dialer {
    let dialer = dialer.map(TcpStream::from);
    if let Some(inner) = dialer.iter().find(|socket| dial(socket, inside).is_ok()) {
        thread::scope(|scope| {
            scope.spawn(|| copy(outer, inner));
            copy(inner, outer);
        });
    }
    dialer.map(|socket| {
        let _ = rustix::net::connect_unspec(&socket);
        socket.into()
    })
}

/// Connects a socket with a server at the loopback of its kind.
fn dial(socket: &TcpStream, port: u16) -> io::Result<()> {
    let at: SocketAddr = match rustix::net::getsockname(socket)?.address_family() {
        AddressFamily::INET => (Ipv4Addr::LOCALHOST, port).into(),
        _ => (Ipv6Addr::LOCALHOST, port).into(),
    };
    Ok(rustix::net::connect(socket, &at)?)
}

/// Copies one direction to its end, and tells the other side of it.
fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    if io::copy(&mut from, &mut to).is_ok() {
        let _ = to.shutdown(Shutdown::Write);
    } else {
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    }
}
