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
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::answer::in_words;
use super::{Answer, Approver, Opening, Request, Unfit, Version, WAIT};
use crate::state::StateDir;
use crate::stop::Stop;

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

    /// Returns whether somebody who has shown the key is attached right now.
    pub fn attached(&self) -> bool {
        self.server.get().is_some_and(|server| server.desk.attached.load(Ordering::SeqCst) > 0)
    }

    /// Asks, and waits for the answer until `stop` is said: then the question is
    /// withdrawn, those who are attached are told so, and the answer is no.
    pub fn ask_until(&self, request: &Request, stop: &Stop) -> Answer {
        match self.server.get() {
            Some(server) => server.ask(request, self.limit, stop),
            None => Answer::unasked("nobody can be asked yet"),
        }
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
        self.ask_until(request, &Stop::new())
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
            let desk =
                Arc::new(Desk { wake, papers: Mutex::default(), attached: AtomicUsize::new(0) });
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

    fn ask(&self, request: &Request, limit: Duration, stop: &Stop) -> Answer {
        let withdrawn = || Answer::unasked("the question was withdrawn");
        if stop.is_said() {
            return withdrawn();
        }
        let line = wire::line(&Notice::Request(Box::new(request.clone())));
        let (answer_to, answer) = mpsc::sync_channel(1);
        // Rings for an answer, and when the word to stop is said.
        let bell = stop.below();
        let reply = Asker { answer_to, bell: bell.clone() };
        if let Err(reason) = self.desk.put(&request.id, line, reply) {
            return Answer::unasked(reason);
        }
        let since = Instant::now();
        // The bell may give up early where there are no descriptors to be had.
        while !bell.wait(limit.saturating_sub(since.elapsed())) && since.elapsed() < limit {}
        let (how, no) = match stop.is_said() {
            true => (How::Withdrawn, withdrawn()),
            false => (
                How::TimedOut,
                Answer::unasked(format!("nobody answered within {}", in_words(limit))),
            ),
        };
        match self.desk.take(&request.id, how) {
            Some(_) => no,
            // It was answered: whoever took it says what in this very moment.
            None => answer.recv().unwrap_or(no),
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
    /// How many are attached who have shown the key.
    attached: AtomicUsize,
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
    reply: Asker,
}

/// The way back to whoever asked.
#[derive(Debug)]
struct Asker {
    answer_to: SyncSender<Answer>,
    bell: Stop,
}

impl Asker {
    fn send(self, answer: Answer) {
        // There is room for the one answer.
        let _ = self.answer_to.try_send(answer);
        self.bell.say();
    }
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
    fn put(&self, id: &str, line: Vec<u8>, reply: Asker) -> Result<(), &'static str> {
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
    fn take(&self, id: &str, how: How) -> Option<Asker> {
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
