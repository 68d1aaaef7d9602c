//! Asks whoever is attached to a Unix socket.
//!
//! Questions wait until somebody answers or the time is over, whether or not
//! anybody is attached; who attaches later sees what waits. The first answer
//! counts.
//!
//! Three things keep others out: a directory that only the user can enter, the
//! user's number on the other end (Linux; elsewhere the directory has to do),
//! and a key in a file beside the socket. The key is for commands: where a
//! backend lets them reach sockets by path, they still cannot read the file.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::answer::in_words;
use super::{Answer, Approver, Opening, Request, Unfit, Version, WAIT};
use crate::state::StateDir;

mod client;
mod place;
mod server;
mod wire;

use place::Place;

pub use client::{Answering, Client, running};
pub use wire::{How, Notice};

/// The most questions that wait at a time.
const MAX_WAITING: usize = 64;
/// The most bytes that all waiting questions may have.
const MAX_BYTES: usize = 16 << 20;

/// A Unix socket that others attach to and answer on.
///
/// It listens from when its session opens until it is dropped.
#[derive(Debug)]
pub struct Socket {
    place: Place,
    limit: Duration,
    server: OnceLock<Server>,
}

impl Socket {
    /// Returns a socket where `zonekeep approve` finds it: in
    /// `$XDG_RUNTIME_DIR/zonekeep`, or in the state directory.
    pub fn of_user(state: &StateDir) -> Self {
        Socket { place: Place::OfUser(state.clone()), limit: WAIT, server: OnceLock::new() }
    }

    /// Returns a socket at `path`. Its directory must be the user's alone, and
    /// is made where it is missing.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Socket { place: Place::At(path.into()), limit: WAIT, server: OnceLock::new() }
    }

    /// Sets how long a question waits; five minutes unless said otherwise.
    #[must_use]
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Returns where it listens; `None` before its session has opened.
    pub fn path(&self) -> Option<&Path> {
        self.server.get().map(|server| server.path.as_path())
    }
}

impl Approver for Socket {
    fn begin(&self, opening: &Opening<'_>) -> Result<(), Unfit> {
        if self.server.get().is_some() {
            return Err(Unfit::Busy);
        }
        let server = Server::start(self.place.bind(opening)?, opening)?;
        self.server.set(server).map_err(|_| Unfit::Busy)
    }

    fn ask(&self, request: &Request) -> Answer {
        match self.server.get() {
            Some(server) => server.ask(request, self.limit),
            None => Answer::unasked("nobody can be asked yet"),
        }
    }

    fn name(&self) -> &str {
        "socket"
    }
}

/// The thread that talks to whoever is attached.
#[derive(Debug)]
struct Server {
    path: PathBuf,
    desk: Arc<Desk>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn start(bound: place::Bound, opening: &Opening<'_>) -> Result<Self, Unfit> {
        let place::Bound { listener, path, key } = bound;
        let start = || {
            let (wake, woken) = UnixStream::pair()?;
            wake.set_nonblocking(true)?;
            woken.set_nonblocking(true)?;
            let desk = Arc::new(Desk { wake, papers: Mutex::default() });
            let greeting = wire::Notice::Session {
                version: Version,
                session: opening.session.to_owned(),
                project: opening.project.display().to_string(),
                pending: 0,
            };
            let hall = server::Hall::new(listener, woken, Arc::clone(&desk), key, greeting);
            let thread =
                thread::Builder::new().name("approve".into()).spawn(move || hall.serve())?;
            Ok((desk, thread))
        };
        match start() {
            Ok((desk, thread)) => Ok(Server { path, desk, thread: Some(thread) }),
            Err(source) => {
                place::remove(&path);
                Err(Unfit::Failed { path, source })
            }
        }
    }

    fn ask(&self, request: &Request, limit: Duration) -> Answer {
        let line = wire::line(&Notice::Request(Box::new(request.clone())));
        let (reply, answer) = mpsc::sync_channel(1);
        if let Err(reason) = self.desk.put(&request.id, line, reply) {
            return Answer::unasked(reason);
        }
        let late = || Answer::unasked(format!("nobody answered within {}", in_words(limit)));
        match answer.recv_timeout(limit) {
            Ok(answer) => answer,
            Err(_) => match self.desk.take(&request.id, How::TimedOut) {
                Some(_) => late(),
                // It was answered in this very moment.
                None => answer.try_recv().unwrap_or_else(|_| late()),
            },
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        place::remove(&self.path);
        self.desk.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Where questions wait: what the asking threads and the server share.
#[derive(Debug)]
struct Desk {
    /// A byte here makes the server look.
    wake: UnixStream,
    papers: Mutex<Papers>,
}

#[derive(Debug, Default)]
struct Papers {
    waiting: Vec<Waiting>,
    /// How many questions there have been.
    count: u64,
    /// Questions that are not waiting any more, for the server to tell.
    settled: Vec<(u64, String, How)>,
    closed: bool,
}

/// A question that waits.
#[derive(Debug)]
struct Waiting {
    number: u64,
    id: String,
    line: Arc<[u8]>,
    reply: SyncSender<Answer>,
}

impl Desk {
    fn papers(&self) -> MutexGuard<'_, Papers> {
        // Nothing is left half done by a panic.
        self.papers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        // When the pipe is full, the server is awake anyway.
        let _ = (&self.wake).write(&[1]);
    }

    /// Adds a question; fails with a reason to follow "approval, and".
    fn put(&self, id: &str, line: Vec<u8>, reply: SyncSender<Answer>) -> Result<(), &'static str> {
        let mut papers = self.papers();
        let bytes: usize = papers.waiting.iter().map(|waiting| waiting.line.len()).sum();
        if papers.closed {
            return Err("nobody can be asked any more");
        } else if line.len() > MAX_BYTES {
            return Err("the question is too long to be asked");
        } else if papers.waiting.len() >= MAX_WAITING || bytes + line.len() > MAX_BYTES {
            return Err("too many questions wait already");
        } else if papers.waiting.iter().any(|waiting| waiting.id == id) {
            return Err("the same question waits already");
        }
        let number = papers.count;
        papers.count += 1;
        papers.waiting.push(Waiting { number, id: id.to_owned(), line: line.into(), reply });
        drop(papers);
        self.wake();
        Ok(())
    }

    /// Takes a question away, because it is settled.
    fn take(&self, id: &str, how: How) -> Option<SyncSender<Answer>> {
        let mut papers = self.papers();
        let at = papers.waiting.iter().position(|waiting| waiting.id == id)?;
        let Waiting { number, id, reply, .. } = papers.waiting.remove(at);
        papers.settled.push((number, id, how));
        drop(papers);
        self.wake();
        Some(reply)
    }

    fn close(&self) {
        self.papers().closed = true;
        self.wake();
    }
}

/// Returns whether the other end of a connection belongs to the user.
///
/// Where the system does not tell, the directory of the socket has to do.
fn is_own(stream: &UnixStream) -> bool {
    #[cfg(target_os = "linux")]
    {
        rustix::net::sockopt::socket_peercred(stream)
            .is_ok_and(|peer| peer.uid == rustix::process::geteuid())
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = stream;
        true
    }
}
