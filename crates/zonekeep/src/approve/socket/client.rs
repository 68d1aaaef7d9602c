//! The other end: a program that answers for somebody.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::wire::{self, Notice, Reply};
use super::{is_own, place};
use crate::approve::{Answer, Version};
use crate::state::StateDir;

/// The longest line that a session may send.
const MAX_NOTICE: u64 = 32 << 20;
/// How long a session may take to say whose it is.
const GREETING: Duration = Duration::from_secs(10);

/// Somebody who is attached to the socket of a session.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
    /// The session.
    pub session: String,
    /// Its project directory.
    pub project: String,
    /// How many questions waited when it was attached to; they come first.
    pub pending: usize,
}

impl Client {
    /// Attaches to the socket at `path`, whose key lies beside it.
    pub fn attach(path: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        if !is_own(&stream) {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "it belongs to another user",
            ));
        }
        let key = fs::read_to_string(place::key_path(path))?;
        stream.set_read_timeout(Some(GREETING))?;
        let mut client = Client {
            stream: BufReader::new(stream),
            session: String::new(),
            project: String::new(),
            pending: 0,
        };
        let said = client.say(&Reply::Hello { version: Version, key: key.trim().to_owned() });
        // A session that is full says so and closes, before it is greeted.
        match client.next().or_else(|error| said.and(Err(error)))? {
            Some(Notice::Session { session, project, pending, .. }) => {
                client.stream.get_ref().set_read_timeout(None)?;
                Ok(Client { session, project, pending, ..client })
            }
            Some(Notice::Error { message, .. }) => Err(io::Error::other(message)),
            Some(_) => Err(io::ErrorKind::InvalidData.into()),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Returns a second handle, to answer on while the first one is read from.
    pub fn answering(&self) -> io::Result<Answering> {
        Ok(Answering(self.stream.get_ref().try_clone()?))
    }

    /// Waits for what the session says next; `None` when it has ended.
    #[allow(clippy::should_implement_trait, reason = "it can fail")]
    pub fn next(&mut self) -> io::Result<Option<Notice>> {
        let mut line = Vec::new();
        (&mut self.stream).take(MAX_NOTICE).read_until(b'\n', &mut line)?;
        match line.last() {
            None => Ok(None),
            Some(b'\n') => Ok(Some(serde_json::from_slice(&line)?)),
            Some(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Answers a question. Whether it counts is said by [`Notice::Accepted`] or
    /// [`Notice::Error`].
    pub fn answer(&self, id: &str, answer: &Answer) -> io::Result<()> {
        self.answering()?.answer(id, answer)
    }

    fn say(&self, reply: &Reply) -> io::Result<()> {
        self.stream.get_ref().write_all(&wire::line(reply))
    }
}

/// The half of a [`Client`] that answers.
#[derive(Debug)]
pub struct Answering(UnixStream);

impl Answering {
    /// Answers a question.
    pub fn answer(&mut self, id: &str, answer: &Answer) -> io::Result<()> {
        let Answer { approved, note, remember, .. } = answer.clone();
        let id = id.to_owned();
        let reply = Reply::Answer { version: Version, id, approved, note, remember };
        self.0.write_all(&wire::line(&reply))
    }
}

/// Returns the sockets of the user's sessions that somebody listens on, and
/// removes those that were left behind.
pub fn running(state: &StateDir) -> Vec<PathBuf> {
    let mut sockets = place::sockets(state);
    sockets.retain(|path| match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            place::remove(path);
            false
        }
        result => result.is_ok(),
    });
    sockets
}
