//! Loopback servers that speak the protocols of the model providers.
//!
//! A [`Provider`] answers one request after the other with the [`Turn`]s it was
//! given, in the provider's own streaming format, and keeps what it was asked.
//! Nothing here needs more than the standard library, and every wait has an end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

mod turn;
mod wire;

use turn::{Answer, Fault};
pub use turn::{Called, Turn};

/// The largest request that is read.
const MAX_REQUEST: usize = 64 << 20;
/// The most that an endless stream sends, should nobody stop it.
const ENDLESS: usize = 256 << 20;
/// The longest that a server says nothing.
const STALL: Duration = Duration::from_secs(300);

/// Whose protocol a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Anthropic's messages.
    Anthropic,
    /// OpenAI's chat completions.
    OpenAi,
    /// Gemini's `streamGenerateContent`.
    Gemini,
    /// Ollama's chat.
    Ollama,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Protocol; 4] =
        [Protocol::Anthropic, Protocol::OpenAi, Protocol::Gemini, Protocol::Ollama];

    /// Returns what a model's name begins with, such as `anthropic`.
    pub fn prefix(self) -> &'static str {
        match self {
            Protocol::Anthropic => "anthropic",
            Protocol::OpenAi => "openai",
            Protocol::Gemini => "gemini",
            Protocol::Ollama => "ollama",
        }
    }

    /// Returns the environment variables for the address and for the key.
    pub fn variables(self) -> (&'static str, &'static str) {
        match self {
            Protocol::Anthropic => ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
            Protocol::OpenAi => ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
            Protocol::Gemini => ("GEMINI_BASE_URL", "GEMINI_API_KEY"),
            Protocol::Ollama => ("OLLAMA_HOST", "OLLAMA_API_KEY"),
        }
    }
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The path, with what follows the question mark.
    pub path: String,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; null where it is no JSON.
    pub body: Value,
}

impl Asked {
    /// Returns a header by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(have, _)| have == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// A loopback server that answers with the given turns, one for each request,
/// until it is dropped.
#[derive(Debug)]
pub struct Provider {
    protocol: Protocol,
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    turns: Mutex<std::collections::VecDeque<Turn>>,
    asked: Mutex<Vec<Asked>>,
    over: AtomicBool,
}

impl Provider {
    /// The key that [`environment`](Provider::environment) hands out.
    pub const KEY: &'static str = "sk-test-3f9a1c7e5b2d4860-never-shown";

    /// Returns a server that speaks as Anthropic does.
    pub fn anthropic(turns: Vec<Turn>) -> Self {
        Provider::new(Protocol::Anthropic, turns)
    }

    /// Returns a server that speaks as OpenAI does.
    pub fn openai(turns: Vec<Turn>) -> Self {
        Provider::new(Protocol::OpenAi, turns)
    }

    /// Returns a server that speaks as Gemini does.
    pub fn gemini(turns: Vec<Turn>) -> Self {
        Provider::new(Protocol::Gemini, turns)
    }

    /// Returns a server that speaks as Ollama does.
    pub fn ollama(turns: Vec<Turn>) -> Self {
        Provider::new(Protocol::Ollama, turns)
    }

    /// Returns a server that speaks `protocol`. When the turns are used up, it
    /// refuses with status 400.
    pub fn new(protocol: Protocol, turns: Vec<Turn>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            turns: Mutex::new(turns.into()),
            asked: Mutex::default(),
            over: AtomicBool::new(false),
        });
        let serving = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if serving.over.load(Ordering::SeqCst) {
                    break;
                }
                let Ok(stream) = stream else { continue };
                let state = Arc::clone(&serving);
                thread::spawn(move || drop(state.serve(protocol, stream)));
            }
        });
        Provider { protocol, address, state }
    }

    /// Returns its address, as the variable for the base URL wants it.
    pub fn url(&self) -> String {
        let path = if self.protocol == Protocol::OpenAi { "/v1" } else { "" };
        format!("http://{}{path}", self.address)
    }

    /// Returns the name of a model of this provider.
    pub fn model(&self) -> String {
        format!("{}:test-model", self.protocol.prefix())
    }

    /// Returns the environment variables that lead here, with a key.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let (url, key) = self.protocol.variables();
        vec![(url, self.url()), (key, Provider::KEY.to_owned())]
    }

    /// Returns what it was asked so far.
    pub fn requests(&self) -> Vec<Asked> {
        self.state.asked.lock().unwrap().clone()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
    }
}

impl State {
    fn serve(&self, protocol: Protocol, stream: TcpStream) -> std::io::Result<()> {
        stream.set_read_timeout(Some(STALL))?;
        stream.set_write_timeout(Some(STALL))?;
        stream.set_nodelay(true)?;
        let Some(asked) = read_request(&stream)? else { return Ok(()) };
        let turn = {
            // Both at once, so that the turns are in the order of the requests.
            let mut all = self.asked.lock().unwrap();
            all.push(asked);
            self.turns.lock().unwrap().pop_front()
        };
        let turn = turn.unwrap_or_else(|| Turn::status(400, "there are no more turns"));
        self.answer(protocol, &turn, stream)
    }

    fn answer(&self, protocol: Protocol, turn: &Turn, mut out: TcpStream) -> std::io::Result<()> {
        self.pause(turn.delay);
        self.gather(turn.together)?;
        match &turn.answer {
            Answer::Status { status, headers, body } => {
                let body =
                    body.clone().unwrap_or_else(|message| wire::error(protocol, *status, &message));
                write!(out, "HTTP/1.1 {status} Answer\r\ncontent-type: application/json\r\n")?;
                for (name, value) in headers {
                    write!(out, "{name}: {value}\r\n")?;
                }
                write!(out, "content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
            }
            Answer::EndlessError => {
                write!(out, "HTTP/1.1 400 Answer\r\ncontent-type: application/json\r\n")?;
                write!(out, "connection: close\r\n\r\n")?;
                self.flood(&mut out, &[b'x'; 1 << 16], |out, bytes| out.write_all(bytes))
            }
            Answer::Stream(said) => {
                let kind = turn.content_type.as_deref().unwrap_or(wire::content_type(protocol));
                write!(out, "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n")?;
                write!(out, "transfer-encoding: chunked\r\nconnection: close\r\n\r\n")?;
                let frames = wire::frames(protocol, said);
                self.stream(protocol, &frames, turn.fault, &mut out)
            }
        }
    }

    fn stream(
        &self,
        protocol: Protocol,
        frames: &[Vec<u8>],
        fault: Option<Fault>,
        out: &mut TcpStream,
    ) -> std::io::Result<()> {
        // Enough for something to have been said.
        let some = frames.len().div_ceil(2);
        match fault {
            None => {
                for frame in frames {
                    chunk(out, frame)?;
                }
                out.write_all(b"0\r\n\r\n")
            }
            Some(Fault::Broken) => {
                for frame in &frames[..some] {
                    chunk(out, frame)?;
                }
                // The length of a chunk that never comes.
                out.write_all(b"ffff\r\n")
            }
            Some(Fault::EndsEarly) => {
                for frame in &frames[..some] {
                    chunk(out, frame)?;
                }
                out.write_all(b"0\r\n\r\n")
            }
            Some(Fault::Stalls) => {
                for frame in &frames[..some] {
                    chunk(out, frame)?;
                }
                self.pause(STALL);
                Ok(())
            }
            Some(Fault::Endless) => {
                let words = wire::words(protocol, &"endless ".repeat(512));
                self.flood(out, &words, chunk)
            }
            Some(Fault::EndlessLine) => self.flood(out, &[b'x'; 1 << 16], chunk),
        }
    }

    /// Sends the same again and again, until nobody listens.
    fn flood(
        &self,
        out: &mut TcpStream,
        bytes: &[u8],
        mut send: impl FnMut(&mut TcpStream, &[u8]) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        for _ in 0..ENDLESS / bytes.len() {
            if self.over.load(Ordering::SeqCst) {
                break;
            }
            send(out, bytes)?;
        }
        Ok(())
    }

    /// Waits until so many requests have come.
    fn gather(&self, requests: usize) -> std::io::Result<()> {
        let end = Instant::now() + STALL;
        while self.asked.lock().unwrap().len() < requests {
            if self.over.load(Ordering::SeqCst) || Instant::now() > end {
                return Err(std::io::ErrorKind::TimedOut.into());
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Waits, at most until the server is dropped.
    fn pause(&self, time: Duration) {
        let end = Instant::now() + time.min(STALL);
        while !self.over.load(Ordering::SeqCst) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            thread::sleep(left.min(Duration::from_millis(10)));
        }
    }
}

fn chunk(out: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    let mut whole = format!("{:x}\r\n", bytes.len()).into_bytes();
    whole.extend_from_slice(bytes);
    whole.extend_from_slice(b"\r\n");
    out.write_all(&whole)
}

/// Reads one request; `None` where nothing came.
fn read_request(stream: &TcpStream) -> std::io::Result<Option<Asked>> {
    let mut reader = BufReader::new(stream.take(MAX_REQUEST as u64));
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let Some(path) = line.split(' ').nth(1).map(str::to_owned) else { return Ok(None) };
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse::<usize>().ok()).unwrap_or_default();
    let mut body = vec![0; length.min(MAX_REQUEST)];
    reader.read_exact(&mut body)?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Ok(Some(Asked { path, headers, body }))
}
