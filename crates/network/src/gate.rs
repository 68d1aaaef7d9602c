//! The one exit of a sandbox whose network is a list of hosts.

mod decide;
mod environment;
mod first;
mod layout;
mod listen;
mod open;
mod passage;
mod proxy;
mod resolver;
mod socks5;
mod tls;
mod token;
mod watch;

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};
use zonekeep_policy::hosts::{ConnectQuestion, Destination, PresetHosts};
use zonekeep_policy::limit::Limits;
use zonekeep_policy::policy::{Consent, Network};
use zonekeep_policy::source::Ruled;

pub use environment::environment;
pub(crate) use layout::HOST_ADDRESS;
pub use layout::Layout;

use crate::account::Account;
use crate::authority::Authority;
use crate::event::Event;
use crate::relay::Pool;
use crate::secret::{Secret, Secrets};
use crate::workers::Workers;
use layout::Names;
use listen::{Listener, Socket};
use open::Open;
use resolver::Resolver;

/// How many of a session's connections one gate may have, in quarters: another
/// command still finds some.
const QUARTERS: usize = 3;

/// Threads for what blocks, and how many of them may wait for people.
const THREADS: usize = 16;
const QUESTIONS: usize = 8;

/// What a gate lets through, and on which terms.
#[derive(Debug)]
pub struct Setting {
    /// The hosts that may be reached.
    pub network: Network,
    /// The hosts of the presets in it.
    pub presets: PresetHosts,
    /// What becomes of questions.
    pub consent: Ruled<Consent>,
    /// Secrets that are put into requests on their way out.
    pub secrets: Vec<Secret>,
    /// Who signs for hosts that get secrets.
    pub authority: Option<Arc<Authority>>,
    /// How much the session may use.
    pub limits: Limits,
    /// What it has used.
    pub account: Arc<Account>,
    /// What the proxy wants to hear; needed where its port is on the host.
    pub token: Option<String>,
}

/// Who answers a gate's questions and hears what happens there.
pub trait Desk: Send + Sync + 'static {
    /// Asks somebody whether a connection may be made, and waits for the answer.
    ///
    /// Connections to the same destination that come meanwhile get the same
    /// answer; afterwards it is asked again.
    fn ask(&self, question: &ConnectQuestion) -> Result<(), Refused>;

    /// Hears that nobody waits any more for the answer to an open question: the
    /// connections that it was about are gone.
    fn withdrawn(&self, to: &Destination) {
        let _ = to;
    }

    /// Hears what happened. Nothing goes on at the gate until it returns.
    fn tell(&self, event: &Event);
}

/// Somebody was asked, and there was no yes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Why, in words for the program that wanted to connect.
    pub words: String,
}

impl Refused {
    /// Returns a no in words.
    pub fn new(words: impl Into<String>) -> Refused {
        Refused { words: words.into() }
    }
}

/// A gate at work. When it is dropped, it ends with all its connections.
#[derive(Debug)]
pub struct Gate {
    open: Arc<Open>,
    listeners: Vec<Listener>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Gate {
    /// Opens a gate on the sockets of a layout, in its order.
    pub fn open(
        setting: Setting,
        layout: Layout,
        sockets: Vec<OwnedFd>,
        desk: Arc<dyn Desk>,
    ) -> io::Result<Gate> {
        if sockets.len() != layout.sockets.len() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "sockets are not the layout's"));
        }
        let proxy = (Ipv4Addr::LOCALHOST, layout.proxy).into();
        let resolver = layout.sockets.first().map(|(at, _)| *at);
        let plan = layout.sockets.iter().zip(sockets);
        let sockets = plan.map(|((at, udp), socket)| match (*at, *udp) {
            (_, true) => Socket::Datagrams(socket.into()),
            (at, _) if Some(at) == resolver => Socket::Resolver(socket.into()),
            (at, _) if at == proxy => Socket::Proxy(socket.into()),
            _ => Socket::Hosts(socket.into()),
        });
        let sockets = sockets.collect();
        Gate::start(Shared::new(setting, &layout, desk)?, sockets)
    }

    /// Opens a gate that is a proxy alone, on a port of the host's loopback
    /// address, and returns the port.
    ///
    /// Everybody on the host can connect to it, so it needs a token.
    pub fn on_host(setting: Setting, desk: Arc<dyn Desk>) -> io::Result<(Gate, u16)> {
        if setting.token.as_deref().is_none_or(str::is_empty) {
            let why = "a proxy on the host needs a token";
            return Err(io::Error::new(ErrorKind::InvalidInput, why));
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let layout = Layout::of(&setting.network, &setting.presets);
        let shared = Shared::new(setting, &layout, desk)?;
        Ok((Gate::start(shared, vec![Socket::Proxy(listener)])?, port))
    }

    /// Waits until no connection is open, at most for a while.
    ///
    /// What a command's connections came to is told when they close, which takes
    /// a moment after the command has ended.
    pub fn settle(&self, at_most: Duration) {
        self.open.wait(at_most);
    }

    /// Ends every connection that is open or waits to be let in. The gate stays.
    pub fn cut(&self) {
        self.open.cut(&self.listeners);
    }

    /// Cuts, and lets nobody in until the gate is opened again.
    ///
    /// Sockets can be handed on, so somebody may connect where no command runs.
    pub fn shut(&self) {
        self.open.shut(&self.listeners);
    }

    /// Opens a gate that was shut, for those who come from now on.
    pub fn reopen(&self) {
        self.open.reopen(&self.listeners);
    }

    fn start(shared: Shared, sockets: Vec<Socket>) -> io::Result<Gate> {
        let (stop, stopped) = oneshot::channel();
        has_room()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let open = Arc::clone(&shared.open);
        let workers = shared.workers.clone();
        let shared = Arc::new(shared);
        let mut listeners = Vec::new();
        {
            let _inside = runtime.enter();
            for socket in sockets {
                listeners.extend(listen::serve(socket, &shared)?);
            }
        }
        let work = move || {
            // An error is the gate's end as well: who could stop it is gone.
            let _ = runtime.block_on(stopped);
            runtime.shutdown_background();
            // Those that wait for a person or a name end when they have it.
            workers.close();
        };
        let thread = thread::Builder::new().name("zonekeep-gate".to_owned()).spawn(work)?;
        Ok(Gate { open, listeners, stop: Some(stop), thread: Some(thread) })
    }
}

/// Fails where there are fewer descriptors left than a runtime takes: tokio panics
/// without those that it has for signals.
fn has_room() -> io::Result<()> {
    let room: io::Result<Vec<_>> = (0..3).map(|_| UnixStream::pair()).collect();
    room.map(drop)
}

impl Drop for Gate {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the connections of a gate have in common.
pub(crate) struct Shared {
    network: Network,
    presets: PresetHosts,
    consent: Ruled<Consent>,
    secrets: Arc<Secrets>,
    authority: Option<Arc<Authority>>,
    limits: Limits,
    account: Arc<Account>,
    token: Option<token::Token>,
    desk: Arc<dyn Desk>,
    names: Mutex<Names>,
    resolver: Resolver,
    questions: decide::Questions,
    pool: Pool,
    slots: Arc<Semaphore>,
    open: Arc<Open>,
    workers: Workers,
}

impl Shared {
    fn new(setting: Setting, layout: &Layout, desk: Arc<dyn Desk>) -> io::Result<Shared> {
        let at_a_time = setting.account.slots().count;
        Ok(Shared {
            network: setting.network,
            presets: setting.presets,
            consent: setting.consent,
            secrets: Arc::new(Secrets::new(setting.secrets)),
            authority: setting.authority,
            limits: setting.limits,
            account: setting.account,
            token: setting.token.as_deref().map(token::Token::new),
            desk,
            names: Mutex::new(Names::of(layout)),
            resolver: Resolver::default(),
            questions: decide::Questions::new(QUESTIONS),
            pool: Pool::default(),
            slots: Arc::new(Semaphore::new(at_a_time * QUARTERS / 4)),
            open: Arc::default(),
            workers: Workers::start(THREADS)?,
        })
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.resolver.report_rest(&*self.desk);
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
