//! Fetches a page: one blocking GET over HTTP or HTTPS, without credentials,
//! bounded in time and size.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::mpsc;
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use rustls_platform_verifier::BuilderVerifierExt;

use super::url::{Scheme, Url};

/// How long a fetch may take, redirects included.
const LIMIT: Duration = Duration::from_secs(5);
/// How many redirects are followed.
const MAX_REDIRECTS: usize = 3;
const MAX_HEAD: usize = 64 << 10;
const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

/// What to fetch.
#[derive(Debug, Clone)]
pub(super) struct Get {
    pub(super) url: Url,
    pub(super) accept: &'static str,
    /// How much of the body is read; what is longer is cut.
    pub(super) most: usize,
}

/// A page.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) body: String,
    /// Where it was in the end.
    pub(super) url: Url,
    /// Where redirects led, in order.
    pub(super) passed: Vec<Url>,
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub(super) enum GetFault {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("it did not answer within {} s", LIMIT.as_secs())]
    Time,
    #[error("it wants credentials")]
    Credentials,
    #[error("it answered with status {0}")]
    Status(u16),
    #[error("it answered with something that is not HTTP")]
    Http,
    #[error("it redirects to somewhere that is not followed")]
    Redirect,
}

/// Fetches a page.
///
/// Looking up a name cannot be cut short, so the work is done on a thread that
/// is left behind when the time is over.
pub(super) fn get(wanted: Get) -> Result<Page, GetFault> {
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new().name("zonekeep-index".into()).spawn(move || {
        let _ = sender.send(follow(wanted, Instant::now() + LIMIT));
    })?;
    receiver.recv_timeout(LIMIT + Duration::from_millis(500)).unwrap_or(Err(GetFault::Time))
}

fn follow(wanted: Get, deadline: Instant) -> Result<Page, GetFault> {
    let mut url = wanted.url.clone();
    let mut passed = Vec::new();
    loop {
        let reply = fetch(&url, &wanted, deadline)?;
        match reply.status {
            200..=299 => {
                let body = String::from_utf8_lossy(&reply.body).into_owned();
                return Ok(Page { body, url, passed });
            }
            301 | 302 | 303 | 307 | 308 if passed.len() < MAX_REDIRECTS => {
                let next = reply.location.and_then(|to| url.join(&to)).ok_or(GetFault::Http)?;
                if !may_follow(&url, &next) {
                    return Err(GetFault::Redirect);
                }
                let is_elsewhere = next.pattern != url.pattern;
                passed.push(next.clone());
                url = next;
                // Who wants no page wants to know where it would be.
                if wanted.most == 0 && is_elsewhere {
                    return Ok(Page { body: String::new(), url, passed });
                }
            }
            301..=399 => return Err(GetFault::Redirect),
            401 | 403 | 407 => return Err(GetFault::Credentials),
            status => return Err(GetFault::Status(status)),
        }
    }
}

/// Returns whether a redirect is followed: a server elsewhere must not send us to
/// this machine, to bare addresses, or from an encrypted connection to a plain one.
fn may_follow(from: &Url, to: &Url) -> bool {
    let same = from.pattern.name == to.pattern.name;
    (same || !to.is_bare()) && !(from.scheme == Scheme::Https && to.scheme == Scheme::Http)
}

struct Reply {
    status: u16,
    location: Option<String>,
    body: Vec<u8>,
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

fn fetch(url: &Url, wanted: &Get, deadline: Instant) -> Result<Reply, GetFault> {
    let socket = connect(url, deadline)?;
    let mut stream: Box<dyn Stream> = match url.scheme {
        Scheme::Http => Box::new(Timed { socket, deadline }),
        Scheme::Https => {
            let config = CONFIG.clone().ok_or_else(|| io::Error::other("no certificates"))?;
            let host = url.host();
            let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())
                .map_err(io::Error::other)?;
            let connection = ClientConnection::new(config, name).map_err(io::Error::other)?;
            Box::new(StreamOwned::new(connection, Timed { socket, deadline }))
        }
    };
    let path = if url.path.is_empty() { "/" } else { url.path.as_str() };
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nAccept: {}\r\nAccept-Encoding: identity\r\n\
         User-Agent: zonekeep\r\nConnection: close\r\n\r\n",
        url.authority(),
        wanted.accept
    );
    stream.write_all(request.as_bytes())?;
    stream.flush()?;
    receive(&mut *stream, wanted.most)
}

/// The roots that the machine trusts; reading them takes a while.
static CONFIG: LazyLock<Option<Arc<ClientConfig>>> = LazyLock::new(|| {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().ok()?;
    let builder = builder.with_platform_verifier().ok()?;
    Some(Arc::new(builder.with_no_client_auth()))
});

fn connect(url: &Url, deadline: Instant) -> Result<TcpStream, GetFault> {
    let host = url.host();
    let addresses = (host.trim_matches(['[', ']']), url.port()).to_socket_addrs()?;
    let mut fault = io::Error::other("its name has no address");
    for address in addresses {
        match TcpStream::connect_timeout(&address, left(deadline)?.min(Duration::from_secs(2))) {
            Ok(socket) => return Ok(socket),
            Err(error) => fault = error,
        }
    }
    Err(fault.into())
}

fn left(deadline: Instant) -> Result<Duration, GetFault> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(GetFault::Time) } else { Ok(left) }
}

/// A socket whose every read and write ends at one time.
struct Timed {
    socket: TcpStream,
    deadline: Instant,
}

impl Timed {
    fn left(&self) -> io::Result<Option<Duration>> {
        left(self.deadline).map(Some).map_err(|_| io::ErrorKind::TimedOut.into())
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(self.left()?)?;
        self.socket.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(self.left()?)?;
        self.socket.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// How the end of a body is told.
enum Framing {
    Length(usize),
    Chunked,
    Close,
}

fn receive(stream: &mut dyn Stream, most: usize) -> Result<Reply, GetFault> {
    let mut bytes = Vec::new();
    let (head, status, location, framing) = loop {
        let more = read_some(stream, &mut bytes)?;
        let mut headers = [httparse::EMPTY_HEADER; 100];
        let mut response = httparse::Response::new(&mut headers);
        match response.parse(&bytes).map_err(|_| GetFault::Http)? {
            httparse::Status::Complete(head) => {
                let status = response.code.ok_or(GetFault::Http)?;
                break (head, status, header(&response, "location"), framing(&response));
            }
            httparse::Status::Partial if !more || bytes.len() > MAX_HEAD => {
                return Err(GetFault::Http);
            }
            httparse::Status::Partial => {}
        }
    };
    bytes.drain(..head);
    let goal = match framing {
        Framing::Length(length) => length.min(most),
        // Chunks have their own lines, which count here and go away below.
        Framing::Chunked | Framing::Close => most,
    };
    let wanted = (200..=299).contains(&status);
    let whole = |bytes: &[u8]| {
        bytes.len() >= goal || matches!(framing, Framing::Chunked) && bytes.ends_with(LAST_CHUNK)
    };
    while wanted && !whole(&bytes) && read_some(stream, &mut bytes)? {}
    if let Framing::Chunked = framing {
        bytes = unchunk(&bytes);
    }
    bytes.truncate(goal);
    Ok(Reply { status, location, body: bytes })
}

/// Reads once; returns whether there was something. Many servers close without
/// saying so first, which is an end like any other here: nothing that is cut off
/// gives more hosts than the whole.
fn read_some(stream: &mut dyn Stream, bytes: &mut Vec<u8>) -> Result<bool, GetFault> {
    let mut buffer = [0; 16 << 10];
    match stream.read(&mut buffer) {
        Ok(0) => Ok(false),
        Ok(read) => {
            bytes.extend_from_slice(buffer.get(..read).unwrap_or_default());
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) =>
        {
            Err(GetFault::Time)
        }
        Err(error) => Err(error.into()),
    }
}

fn header(response: &httparse::Response<'_, '_>, name: &str) -> Option<String> {
    let header = response.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
    Some(std::str::from_utf8(header.value).ok()?.trim().to_owned())
}

fn framing(response: &httparse::Response<'_, '_>) -> Framing {
    if header(response, "transfer-encoding").is_some_and(|value| value.contains("chunked")) {
        return Framing::Chunked;
    }
    match header(response, "content-length").and_then(|value| value.parse().ok()) {
        Some(length) => Framing::Length(length),
        None => Framing::Close,
    }
}

/// Returns the content of chunks, as far as they go.
fn unchunk(bytes: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    let mut rest = bytes;
    while let Ok(httparse::Status::Complete((start, length))) = httparse::parse_chunk_size(rest) {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length == 0 {
            break;
        }
        let end = start.saturating_add(length).min(rest.len());
        content.extend_from_slice(rest.get(start..end).unwrap_or_default());
        rest = rest.get(end.saturating_add(2)..).unwrap_or_default();
    }
    content
}
