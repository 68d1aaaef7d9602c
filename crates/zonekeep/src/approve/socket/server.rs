//! The thread behind a socket: one for all who are attached. It never waits for
//! one of them, and nobody who asks waits for it.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sha2::{Digest, Sha256};

use super::wire::{self, How, Notice, Reply};
use super::{Desk, is_own};
use crate::approve::Answer;

/// The most who may be attached at a time.
const MAX_GUESTS: usize = 16;
/// The longest line that they may send.
const MAX_LINE: usize = 64 * 1024;
/// The most lines that wait for one who does not read.
const MAX_BACKLOG: usize = 512;
/// How long one may take to show the key, or to read on.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often those who take their time are looked at.
const LOOK: Duration = Duration::from_millis(500);
/// How long to wait when the system lets nobody in.
const CROWDED: Duration = Duration::from_millis(100);

/// The socket, and all who are attached to it.
pub(super) struct Hall {
    listener: UnixListener,
    woken: UnixStream,
    desk: Arc<Desk>,
    /// The digest of the key, so that comparing tells nothing about it.
    key: [u8; 32],
    greeting: Notice,
    guests: Vec<Guest>,
    /// The number of the first question that nobody was told about yet.
    told: u64,
}

impl Hall {
    pub(super) fn new(
        listener: UnixListener,
        woken: UnixStream,
        desk: Arc<Desk>,
        key: String,
        greeting: Notice,
    ) -> Self {
        let key = Sha256::digest(key.as_bytes()).into();
        Hall { listener, woken, desk, key, greeting, guests: Vec::new(), told: 0 }
    }

    /// Serves until the desk is closed.
    pub(super) fn serve(mut self) {
        while let Ok(ready) = self.wait() {
            // Emptied before the desk is looked at: what comes later wakes again.
            while matches!(self.woken.read(&mut [0; 64]), Ok(1..)) {}
            if self.desk.papers().closed {
                return;
            }
            self.tell_news();
            for at in ready {
                self.listen_to(at);
            }
            self.let_in();
            self.tell_news();
            // Before anybody can read that they are attached.
            self.count();
            for guest in &mut self.guests {
                guest.flush();
            }
            self.guests.retain(|guest| !guest.is_done());
            self.count();
        }
    }

    /// Notes how many are attached who have shown the key.
    fn count(&self) {
        let known = self.guests.iter().filter(|guest| guest.is_known && !guest.is_done());
        self.desk.attached.store(known.count(), Ordering::SeqCst);
    }

    /// Waits until there is something to do; returns who has said something.
    fn wait(&self) -> io::Result<Vec<usize>> {
        let mut fds = vec![
            PollFd::new(&self.woken, PollFlags::IN),
            PollFd::new(&self.listener, PollFlags::IN),
        ];
        let mut look = None;
        for guest in &self.guests {
            let mut wanted = PollFlags::IN;
            if !guest.backlog.is_empty() {
                wanted |= PollFlags::OUT;
            }
            if guest.waits_since.is_some() {
                look = Timespec::try_from(LOOK).ok();
            }
            fds.push(PollFd::new(&guest.stream, wanted));
        }
        match poll(&mut fds, look.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        }
        let said = PollFlags::IN | PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        let guests = fds.iter().skip(2).enumerate();
        Ok(guests.filter(|(_, fd)| fd.revents().intersects(said)).map(|(at, _)| at).collect())
    }

    /// Lets those in who knock.
    fn let_in(&mut self) {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    if !is_own(&stream) || stream.set_nonblocking(true).is_err() {
                        continue;
                    }
                    let mut guest = Guest::new(stream);
                    if self.guests.len() >= MAX_GUESTS {
                        guest.refuse("too many are attached");
                        guest.flush();
                    } else {
                        self.guests.push(guest);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Out of descriptors, say: they knock until there are some.
                Err(_) => return thread::sleep(CROWDED),
            }
        }
    }

    /// Tells everybody what waits since the last time, and what does no more.
    fn tell_news(&mut self) {
        let mut papers = self.desk.papers();
        let new = papers.waiting.iter().filter(|waiting| waiting.number >= self.told);
        let mut news: Vec<Arc<[u8]>> = new.map(|waiting| Arc::clone(&waiting.line)).collect();
        for (number, id, how) in papers.settled.drain(..) {
            if number < self.told {
                news.push(wire::line(&Notice::Settled { id, how }).into());
            }
        }
        self.told = papers.count;
        drop(papers);
        for guest in self.guests.iter_mut().filter(|guest| guest.is_known) {
            guest.backlog.extend(news.iter().cloned());
        }
    }

    /// Reads what somebody has said, and acts on it line by line.
    fn listen_to(&mut self, at: usize) {
        let mut buffer = [0; 8192];
        match self.guests[at].stream.read(&mut buffer) {
            Ok(0) => self.guests[at].is_gone = true,
            Ok(read) => self.guests[at].said.extend_from_slice(&buffer[..read]),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) => {}
            Err(_) => self.guests[at].is_gone = true,
        }
        while let Some(end) = self.guests[at].said.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.guests[at].said.drain(..=end).collect();
            if line.len() > MAX_LINE {
                return self.guests[at].refuse("the line is too long");
            }
            if !line.trim_ascii().is_empty() {
                self.hear(at, &line);
            }
            if self.guests[at].is_refused {
                return;
            }
        }
        if self.guests[at].said.len() > MAX_LINE {
            self.guests[at].refuse("the line is too long");
        }
    }

    fn hear(&mut self, at: usize, line: &[u8]) {
        let guest = &mut self.guests[at];
        match serde_json::from_slice(line) {
            Ok(Reply::Hello { key, .. }) if !guest.is_known => {
                if <[u8; 32]>::from(Sha256::digest(key.as_bytes())) == self.key {
                    guest.is_known = true;
                    guest.waits_since = None;
                    self.greet(at);
                } else {
                    guest.refuse("the key is wrong");
                }
            }
            _ if !guest.is_known => guest.refuse("say hello with the key first"),
            Ok(Reply::Answer { id, approved, note, remember, .. }) => {
                match self.desk.take(&id, How::Answered) {
                    Some(reply) => {
                        let answer = Answer { approved, note, remember, ..Answer::default() };
                        reply.send(answer);
                        guest.say(&Notice::Accepted { id });
                    }
                    None => {
                        let message = "no such question waits (any more)".to_owned();
                        guest.say(&Notice::Error { id: Some(id), message });
                    }
                }
            }
            Ok(Reply::Hello { .. }) => guest.refuse("hello was said already"),
            Err(error) => guest.refuse(&format!("not understood: {error}")),
        }
    }

    /// Tells somebody new whose socket it is, and all that waits.
    fn greet(&mut self, at: usize) {
        let papers = self.desk.papers();
        let told = papers.waiting.iter().filter(|waiting| waiting.number < self.told);
        let lines: Vec<_> = told.map(|waiting| Arc::clone(&waiting.line)).collect();
        drop(papers);
        let mut greeting = self.greeting.clone();
        if let Notice::Session { pending, .. } = &mut greeting {
            *pending = lines.len();
        }
        self.guests[at].say(&greeting);
        self.guests[at].backlog.extend(lines);
    }
}

impl Drop for Hall {
    fn drop(&mut self) {
        self.desk.attached.store(0, Ordering::SeqCst);
    }
}

/// Somebody who is attached.
struct Guest {
    stream: UnixStream,
    /// What was read of it and not understood yet.
    said: Vec<u8>,
    /// What it is to read.
    backlog: VecDeque<Arc<[u8]>>,
    /// How much of the first line it has.
    sent: usize,
    /// Since when the key, or that it reads, is waited for.
    waits_since: Option<Instant>,
    is_known: bool,
    is_refused: bool,
    is_gone: bool,
}

impl Guest {
    fn new(stream: UnixStream) -> Self {
        Guest {
            stream,
            said: Vec::new(),
            backlog: VecDeque::new(),
            sent: 0,
            waits_since: Some(Instant::now()),
            is_known: false,
            is_refused: false,
            is_gone: false,
        }
    }

    fn say(&mut self, notice: &Notice) {
        self.backlog.push_back(wire::line(notice).into());
    }

    /// Says why it has to go.
    fn refuse(&mut self, message: &str) {
        self.say(&Notice::Error { id: None, message: message.to_owned() });
        self.is_refused = true;
    }

    /// Sends as much as it takes without waiting.
    fn flush(&mut self) {
        while let Some(line) = self.backlog.front() {
            match self.stream.write(&line[self.sent..]) {
                Ok(written) => {
                    self.sent += written;
                    if self.is_known {
                        self.waits_since = None;
                    }
                    if self.sent == line.len() {
                        self.sent = 0;
                        self.backlog.pop_front();
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.waits_since.get_or_insert_with(Instant::now);
                    return;
                }
                Err(_) => {
                    self.is_gone = true;
                    return;
                }
            }
        }
    }

    /// Returns whether it left, has to go, or takes too long.
    fn is_done(&self) -> bool {
        self.is_gone
            || self.is_refused
            || self.backlog.len() > MAX_BACKLOG
            || self.waits_since.is_some_and(|since| since.elapsed() > PATIENCE)
    }
}
