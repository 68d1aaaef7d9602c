//! Answers that may repeat the value of a secret: read, masked and framed anew.
//!
//! A value may lie across the end of a chunk, and the last bytes of an answer
//! need not be kept back for what may follow. So it has to be known which bytes
//! are content, and where an answer ends. Heads pass as they came, apart from
//! what is masked in them, so whatever two readers could read in two ways ends
//! the connection.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use httparse::{EMPTY_HEADER, Status};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use super::Stop;
use super::body::{Body, Part};
use super::head::{self, After, Framing, Head};
use super::upgrade;
use crate::account::{Meter, Way};
use crate::event::Refusal;
use crate::mask::Mask;

/// How long the last bytes are kept back in the middle of an answer.
///
/// A command can make an answer pause, for as long as the way to the server and
/// back takes: by its length, or by not reading it. This is longer than any such
/// way, and than losing the same packet several times.
const HOLD: Duration = Duration::from_secs(5);

/// How long they are kept back in a web socket. Where a message ends is not read
/// there, and whoever gets it may have to answer.
const PAUSE: Duration = Duration::from_millis(50);

/// How many bytes are read at a time.
const BUFFER: usize = 16 * 1024;

/// The most headers of an answer.
const HEADERS: usize = 256;

/// The most requests of a connection that wait for an answer.
const WAITING: usize = 1000;

/// What a request says about its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    /// The answer has no body, whatever it says.
    Head,
    /// The connection may turn into a web socket.
    Upgrade,
}

/// The requests that wait for an answer, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked(Arc<Mutex<VecDeque<Kind>>>);

impl Asked {
    /// Notes a request that is about to be sent.
    pub(super) fn push(&self, head: &Head) -> Result<(), Refusal> {
        let kind = match head.after {
            After::Upgrade => Kind::Upgrade,
            _ if head.method == "HEAD" => Kind::Head,
            _ => Kind::Plain,
        };
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() >= WAITING {
            return Err(Refusal::protocol("too many requests wait for an answer"));
        }
        waiting.push_back(kind);
        Ok(())
    }

    fn first(&self) -> Option<Kind> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).front().copied()
    }

    fn answered(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    }
}

/// The answers of a connection, on their way to the client.
#[derive(Debug)]
pub(crate) struct Answers {
    asked: Asked,
    mask: Mask,
    state: State,
    /// What has come and could not be told yet, and how much of it was looked at.
    held: Vec<u8>,
    seen: usize,
    /// Content that goes into the next chunk.
    content: Vec<u8>,
    buffer: Vec<u8>,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    /// A body of a known length.
    Length(Body),
    Chunks(Body),
    /// What follows the last chunk.
    Trailer,
    /// A body that ends with the connection.
    Rest,
    WebSocket,
    /// Nothing that was asked for.
    Over,
}

impl Answers {
    pub(crate) fn new(asked: Asked, mask: Mask) -> Answers {
        let (held, content, buffer) = (Vec::new(), Vec::new(), vec![0; BUFFER]);
        Answers { asked, mask, state: State::Head, held, seen: 0, content, buffer }
    }

    /// Carries answers to the client until the server ends, and passes the end on.
    pub(super) async fn carry<R, W>(
        &mut self,
        from: &mut R,
        to: &mut W,
        meter: &Meter,
    ) -> Result<(), Stop>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        while self.pass(from, to, meter).await? {}
        let _ = to.shutdown().await;
        Ok(())
    }

    /// Carries what answers the first request, which asks for a web socket, until
    /// it is clear whether the server agrees; returns whether it does.
    pub(super) async fn agreed<R, W>(
        &mut self,
        from: &mut R,
        to: &mut W,
        meter: &Meter,
    ) -> Result<bool, Stop>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        while self.asked.first().is_some() && self.pass(from, to, meter).await? {}
        Ok(self.state == State::WebSocket)
    }

    /// Passes on what comes next; returns whether more may come.
    async fn pass<R, W>(&mut self, from: &mut R, to: &mut W, meter: &Meter) -> Result<bool, Stop>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let mut out = Vec::new();
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(BUFFER, 0);
        let room = meter.room(Way::In, buffer.len());
        let passed = match self.read(from, &mut buffer[..room]).await? {
            Some(0) => {
                self.end(&mut out);
                Ok(false)
            }
            Some(count) => self.push(&buffer[..count], &mut out).map(|()| true),
            None => {
                self.release(&mut out);
                Ok(true)
            }
        };
        self.buffer = buffer;
        if !out.is_empty() {
            meter.take(Way::In, out.len())?;
            to.write_all(&out).await?;
            to.flush().await?;
        }
        // Between answers the client can be told what is wrong with the next one.
        let answer = self.state == State::Head;
        let more = passed.map_err(|refusal| Stop::Refused { refusal, answer })?;
        Ok(more && self.state != State::Over)
    }

    /// Reads as much as comes at once; `None` where what is kept back was kept
    /// long enough.
    async fn read<R>(&self, from: &mut R, buffer: &mut [u8]) -> Result<Option<usize>, Stop>
    where
        R: AsyncRead + Unpin,
    {
        let read = from.read(buffer);
        let read = if self.mask.keeps() {
            let patience = if self.state == State::WebSocket { PAUSE } else { HOLD };
            match timeout(patience, read).await {
                Ok(read) => read,
                Err(_) => return Ok(None),
            }
        } else {
            read.await
        };
        match read {
            // Many end TLS without saying so.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(Some(0)),
            read => Ok(Some(read?)),
        }
    }

    /// Takes the next bytes, and gives out what can be passed on.
    fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
        let mut held = std::mem::take(&mut self.held);
        held.extend_from_slice(bytes);
        let mut used = 0;
        while let Some(count) = self.step(&held[used..], out)? {
            used += count;
        }
        self.chunk(out);
        held.drain(..used);
        self.held = held;
        Ok(())
    }

    /// Gives out what is kept back, although the answer goes on.
    fn release(&mut self, out: &mut Vec<u8>) {
        match self.state {
            State::Chunks(_) => {
                self.mask.release(&mut self.content);
                self.chunk(out);
            }
            _ => self.mask.release(out),
        }
    }

    /// Gives out what is kept back where the end of the connection is the end of
    /// the answer. Elsewhere it is cut, perhaps within a value.
    fn end(&mut self, out: &mut Vec<u8>) {
        if matches!(self.state, State::Rest | State::WebSocket) {
            self.mask.finish(out);
        }
    }

    /// Takes bytes from the front, and returns how many; `None` for more of them.
    fn step(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Option<usize>, Refusal> {
        match self.state {
            State::Head => self.head(bytes, out),
            State::Length(body) => self.length(body, bytes, out),
            State::Chunks(body) => self.chunks(body, bytes, out),
            State::Trailer => self.trailer(bytes, out),
            _ if bytes.is_empty() => Ok(None),
            State::Rest | State::WebSocket => {
                self.mask.push(bytes, out);
                Ok(Some(bytes.len()))
            }
            State::Over => Ok(Some(bytes.len())),
        }
    }

    fn head(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Option<usize>, Refusal> {
        if bytes.is_empty() {
            return Ok(None);
        }
        // A server that closes a connection may say so, though nobody has asked.
        let Some(kind) = self.asked.first() else {
            self.state = State::Over;
            return Ok(Some(0));
        };
        let Some(end) = self.end_of_head(bytes)? else { return Ok(None) };
        let next = after_head(&bytes[..end], kind)?;
        self.mask.push(&bytes[..end], out);
        self.mask.finish(out);
        if let Some(next) = next {
            self.asked.answered();
            self.state = next;
        }
        Ok(Some(end))
    }

    /// Returns where a head ends, if it is all there.
    fn end_of_head(&mut self, bytes: &[u8]) -> Result<Option<usize>, Refusal> {
        let end = head::end(bytes, self.seen);
        let end = end.map_err(|_| unreadable("its head is too long, or has odd line ends"))?;
        self.seen = if end.is_some() { 0 } else { bytes.len() };
        Ok(end)
    }

    fn length(
        &mut self,
        mut body: Body,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<usize>, Refusal> {
        match body.step(bytes)? {
            Part::End => {
                self.mask.finish(out);
                self.state = State::Head;
                Ok(Some(0))
            }
            Part::More => Ok(None),
            Part::Frame(count) | Part::Content(count) => {
                self.mask.push(&bytes[..count], out);
                self.state = State::Length(body);
                Ok(Some(count))
            }
        }
    }

    fn chunks(
        &mut self,
        mut body: Body,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<usize>, Refusal> {
        if body.is_before_trailer() {
            self.mask.finish(&mut self.content);
            self.chunk(out);
            out.extend_from_slice(b"0\r\n");
            self.state = State::Trailer;
            return Ok(Some(0));
        }
        let part = body.step(bytes).map_err(|_| unreadable("its chunks are malformed"))?;
        self.state = State::Chunks(body);
        match part {
            Part::More | Part::End => Ok(None),
            Part::Frame(count) => Ok(Some(count)),
            Part::Content(count) => {
                self.mask.push(&bytes[..count], &mut self.content);
                Ok(Some(count))
            }
        }
    }

    /// Gives out a chunk, if there is anything in it.
    fn chunk(&mut self, out: &mut Vec<u8>) {
        if !self.content.is_empty() {
            out.extend_from_slice(format!("{:x}\r\n", self.content.len()).as_bytes());
            out.append(&mut self.content);
            out.extend_from_slice(b"\r\n");
        }
    }

    fn trailer(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Option<usize>, Refusal> {
        let end = match bytes {
            [] | [b'\r'] => return Ok(None),
            [b'\r', b'\n', ..] => 2,
            _ => match self.end_of_head(bytes)? {
                Some(end) => end,
                None => return Ok(None),
            },
        };
        let mut headers = [EMPTY_HEADER; HEADERS];
        match httparse::parse_headers(&bytes[..end], &mut headers) {
            Ok(Status::Complete((used, _))) if used == end => {}
            _ => return Err(unreadable("what follows its last chunk is malformed")),
        }
        self.mask.push(&bytes[..end], out);
        self.mask.finish(out);
        self.state = State::Head;
        Ok(Some(end))
    }
}

/// Reads the head of an answer: what follows it, or `None` where the answer
/// itself is still to come.
fn after_head(bytes: &[u8], kind: Kind) -> Result<Option<State>, Refusal> {
    let malformed = || unreadable("its head is malformed");
    let mut headers = [EMPTY_HEADER; HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    match response.parse(bytes) {
        Ok(Status::Complete(used)) if used == bytes.len() && bytes.starts_with(b"HTTP/1.") => {}
        _ => return Err(malformed()),
    }
    let (Some(version), Some(code)) = (response.version, response.code) else {
        return Err(malformed());
    };
    match code {
        101 if kind == Kind::Upgrade && upgrade::is_web_socket(response.headers) => {
            return Ok(Some(State::WebSocket));
        }
        101 => return Err(unreadable("it turns to what was not asked for")),
        100..=199 => return Ok(None),
        204 | 304 => return Ok(Some(State::Head)),
        _ if kind == Kind::Head => return Ok(Some(State::Head)),
        _ => {}
    }
    Ok(Some(match framing(response.headers, version)? {
        Some(Framing::Chunked) => State::Chunks(Body::new(Framing::Chunked)),
        Some(framing) => State::Length(Body::new(framing)),
        None => State::Rest,
    }))
}

/// Reads how long a body is; `None` where it ends with the connection.
fn framing(headers: &[httparse::Header<'_>], version: u8) -> Result<Option<Framing>, Refusal> {
    let named = |name: &'static str| {
        let named = move |header: &&httparse::Header<'_>| header.name.eq_ignore_ascii_case(name);
        headers.iter().filter(named).map(|header| header.value)
    };
    let codings: Vec<&[u8]> = named("transfer-encoding").collect();
    let lengths: Result<Vec<u64>, Refusal> = named("content-length").map(head::length).collect();
    let lengths = lengths.map_err(|_| unreadable("its length is not a number"))?;
    match (codings.as_slice(), lengths.as_slice()) {
        ([], []) => Ok(None),
        ([], [length, others @ ..]) if others.iter().all(|other| other == length) => {
            Ok(Some(Framing::Length(*length)))
        }
        ([coding], []) if version == 1 && coding.eq_ignore_ascii_case(b"chunked") => {
            Ok(Some(Framing::Chunked))
        }
        (_, []) => Err(unreadable("its transfer coding is not known")),
        _ => Err(unreadable("it says its length twice")),
    }
}

fn unreadable(why: &str) -> Refusal {
    Refusal::protocol(format!("an answer of a host that gets secrets cannot be read: {why}"))
}

#[cfg(test)]
#[path = "answers_tests.rs"]
mod tests;
