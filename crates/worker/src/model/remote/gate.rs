//! The gate: every byte to and from a provider passes here.
//!
//! The client library makes requests and reads replies, and would read without
//! end: lines, streams and refusals of any length. It also wants the key. So it
//! gets neither the key nor the network. What it says goes through a socket
//! that only this process can reach to the gate, which knows the one address
//! there is, adds the key, follows no redirects, and hands on so much of a
//! reply and no more. Text that is not UTF-8 is made so.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::super::ModelError;
use super::super::open::Settings;
use super::address::{Address, Provider, is_loopback};
use super::door::Door;

/// The longest reply, as it is sent.
const MAX_STREAM: usize = 16 << 20;
/// As much of a refusal as is read.
const MAX_REFUSAL: usize = 16 << 10;
/// As much of what a provider says as is shown.
const MAX_WHY: usize = 400;
/// The longest head of a request from the library.
const MAX_HEAD: usize = 64 << 10;
/// The longest that a provider can have one wait.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);
/// The headers of the library that are handed on.
const HEADERS: [&str; 2] = ["content-type", "anthropic-version"];

/// Why there is no reply, and whether asking again could help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) error: ModelError,
    pub(super) again: Again,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    No,
    /// Yes, and how long the provider wants one to wait.
    Yes(Option<Duration>),
}

impl Failure {
    pub(super) fn is_final(error: ModelError) -> Self {
        Failure { error, again: Again::No }
    }

    pub(super) fn passing(error: ModelError) -> Self {
        Failure { error, again: Again::Yes(None) }
    }
}

/// The gate to one provider.
pub(super) struct Gate {
    name: String,
    provider: Provider,
    address: Address,
    client: Client,
    idle: Duration,
}

impl Gate {
    pub(super) fn new(
        name: &str,
        provider: Provider,
        address: Address,
        settings: &Settings,
    ) -> Result<Self, ModelError> {
        let local = is_loopback(&address.url);
        let failed = |why: String| ModelError::Unreachable { name: name.to_owned(), why };
        let tls = match address.url.scheme() {
            "https" => tls().map_err(|error| failed(error.to_string()))?,
            _ => no_tls(),
        };
        let mut client = client()
            .tls_backend_preconfigured(tls)
            .connect_timeout(settings.connect)
            .user_agent(concat!("zonekeep/", env!("CARGO_PKG_VERSION")));
        if local {
            // Neither a proxy nor a name server is asked about this machine.
            let here = [([127, 0, 0, 1], 0).into(), ([0, 0, 0, 0, 0, 0, 0, 1], 0).into()];
            client = client.no_proxy().resolve_to_addrs("localhost", &here);
        }
        let client = client.build().map_err(|error| failed(reason(&error)))?;
        Ok(Gate { name: name.to_owned(), provider, address, client, idle: settings.idle })
    }

    /// Returns the name that the model was opened by.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the address that the library is told: the path is the true one.
    pub(super) fn endpoint(&self) -> String {
        format!("http://gate{}", self.address.url.path())
    }

    /// Carries one request to the provider and its reply back. `door` is where
    /// the library comes in; it is gone once the library is in. The connection to
    /// it ends in any case.
    pub(super) async fn carry(&self, door: Door) -> Result<(), Failure> {
        let lost = |error: std::io::Error| Failure::is_final(self.unreachable(error.to_string()));
        let mut library = door.accept().await.map_err(lost)?;
        let (path, headers, body) = read_request(&mut library).await.map_err(lost)?;
        let mut response = self.send(&path, headers, body).await?;
        let status = response.status();
        if !status.is_success() {
            return Err(self.refusal(response).await);
        }
        self.check_type(response.headers())?;
        let head =
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        library.write_all(head).await.map_err(lost)?;

        let mut total = 0;
        // What came since the last end of a line: the library gets whole lines.
        let mut held = Vec::new();
        loop {
            let chunk = match timeout(self.idle, response.chunk()).await {
                Err(_) => return Err(Failure::is_final(self.timed_out())),
                Ok(Err(error)) => {
                    let why = format!("the reply broke off ({})", reason(&error));
                    return Err(Failure::passing(self.unreachable(why)));
                }
                Ok(Ok(None)) => break,
                Ok(Ok(Some(chunk))) => chunk,
            };
            total += chunk.len();
            if total > MAX_STREAM {
                let limit = MAX_STREAM as u64;
                let what = "bytes";
                return Err(Failure::is_final(ModelError::TooLarge {
                    name: self.name.clone(),
                    what,
                    limit,
                }));
            }
            let seen = held.len();
            held.extend_from_slice(&chunk);
            if let Some(end) = held[seen..].iter().rposition(|byte| *byte == b'\n') {
                let rest = held.split_off(seen + end + 1);
                library.write_all(String::from_utf8_lossy(&held).as_bytes()).await.map_err(lost)?;
                held = rest;
            }
        }
        library.write_all(String::from_utf8_lossy(&held).as_bytes()).await.map_err(lost)?;
        library.shutdown().await.map_err(lost)
    }

    async fn send(
        &self,
        path: &str,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Response, Failure> {
        let mut url = self.address.url.clone();
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (path, None),
        };
        url.set_path(path);
        url.set_query(query);
        let mut request = self.client.post(url).headers(headers).body(body);
        if let Some((name, value)) = &self.address.auth {
            request = request.header(name, value);
        }
        match timeout(self.idle, request.send()).await {
            Err(_) => Err(Failure::is_final(self.timed_out())),
            Ok(Err(error)) => Err(Failure::passing(self.unreachable(reason(&error)))),
            Ok(Ok(response)) => Ok(response),
        }
    }

    /// Returns what a refusal says, and whether it will pass.
    async fn refusal(&self, mut response: Response) -> Failure {
        let status = response.status();
        let after = retry_after(response.headers());
        let mut body = Vec::new();
        while body.len() < MAX_REFUSAL {
            match timeout(self.idle, response.chunk()).await {
                Ok(Ok(Some(chunk))) => {
                    let room = MAX_REFUSAL - body.len();
                    body.extend_from_slice(&chunk[..chunk.len().min(room)]);
                }
                _ => break,
            }
        }
        let why = if status.is_redirection() {
            "it leads to another address, which is not followed".to_owned()
        } else {
            self.clean(&said(&String::from_utf8_lossy(&body), status))
        };
        self.refused(status.as_u16(), &why, after)
    }

    /// Returns the failure for a status.
    pub(super) fn refused(&self, status: u16, why: &str, after: Option<Duration>) -> Failure {
        let name = self.name.clone();
        let error = ModelError::Refused { name, status, why: why.to_owned() };
        let again = match status {
            429 | 500 | 502 | 503 | 504 | 529 => Again::Yes(after.map(|t| t.min(MAX_RETRY_AFTER))),
            _ => Again::No,
        };
        Failure { error, again }
    }

    /// Refuses a page that is no stream, such as one to log in.
    fn check_type(&self, headers: &HeaderMap) -> Result<(), Failure> {
        let Some(kind) = headers.get(CONTENT_TYPE) else { return Ok(()) };
        let kind = String::from_utf8_lossy(kind.as_bytes()).to_ascii_lowercase();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        let fits = match self.provider {
            Provider::Ollama => matches!(kind, "application/x-ndjson" | "application/json"),
            _ => kind == "text/event-stream",
        };
        if fits {
            return Ok(());
        }
        Err(self.malformed(&format!("it is of the type '{kind}', which is not a stream")))
    }

    pub(super) fn malformed(&self, why: &str) -> Failure {
        let why = self.clean(why);
        Failure::is_final(ModelError::Malformed { name: self.name.clone(), why })
    }

    pub(super) fn unreachable(&self, why: String) -> ModelError {
        ModelError::Unreachable { name: self.name.clone(), why: self.clean(&why) }
    }

    fn timed_out(&self) -> ModelError {
        ModelError::TimedOut { name: self.name.clone() }
    }

    /// Returns one line of what a provider said, without the key.
    pub(super) fn clean(&self, text: &str) -> String {
        let text = match &self.address.secret {
            Some(secret) => text.replace(secret.as_str(), "[key]"),
            None => text.to_owned(),
        };
        let words = text.split_whitespace().flat_map(|word| [" ", word]).skip(1);
        let mut clean: String = words.collect::<String>();
        clean.retain(|c| !c.is_control());
        match clean.char_indices().nth(MAX_WHY) {
            Some((end, _)) => format!("{}…", &clean[..end]),
            None => clean,
        }
    }
}

/// Returns a client that does what it is told and nothing more.
pub(super) fn client() -> reqwest::ClientBuilder {
    Client::builder()
        .http1_only()
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_gzip()
        .no_brotli()
        .no_deflate()
        .no_zstd()
        // Every request has a runtime of its own, and connections end with it.
        .pool_max_idle_per_host(0)
}

/// Returns what the system trusts.
fn tls() -> Result<ClientConfig, rustls::Error> {
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(ring).with_safe_default_protocol_versions()?;
    Ok(config.with_platform_verifier()?.with_no_client_auth())
}

/// Returns a configuration that trusts nobody, for where there is no TLS.
pub(super) fn no_tls() -> ClientConfig {
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()
        .expect("ring has the usual versions")
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth()
}

/// Reads the library's request: where to, the headers to hand on, and the body.
async fn read_request(library: &mut UnixStream) -> std::io::Result<(String, HeaderMap, Vec<u8>)> {
    let odd = || std::io::Error::other("the library made an odd request");
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if bytes.len() > MAX_HEAD || library.read_buf(&mut bytes).await? == 0 {
            return Err(odd());
        }
    };
    let mut body = bytes.split_off(end + 4);
    let head = String::from_utf8(bytes).map_err(|_| odd())?;
    let mut lines = head.lines();
    let path = lines.next().and_then(|line| line.split(' ').nth(1)).ok_or_else(odd)?;
    let mut headers = HeaderMap::new();
    let mut length = 0;
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let (name, value) = (name.to_ascii_lowercase(), value.trim());
        if name == "content-length" {
            length = value.parse().map_err(|_| odd())?;
        } else if HEADERS.contains(&name.as_str()) {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| odd())?;
            headers.insert(name, HeaderValue::from_str(value).map_err(|_| odd())?);
        }
    }
    let missing = usize::saturating_sub(length, body.len());
    library.take(missing as u64).read_to_end(&mut body).await?;
    if body.len() != length {
        return Err(odd());
    }
    Ok((path.to_owned(), headers, body))
}

/// Returns how long a provider wants one to wait.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds =
        number("retry-after-ms").map(|ms| ms / 1000.0).or_else(|| number("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Returns the message in the body of a refusal.
fn said(body: &str, status: StatusCode) -> String {
    let message = serde_json::from_str(body).ok().and_then(|body| message(&body));
    match message {
        Some(message) => message,
        None if body.trim().is_empty() || body.trim_start().starts_with('<') => {
            status.canonical_reason().unwrap_or("it did not say why").to_owned()
        }
        None => body.to_owned(),
    }
}

/// Returns the message in an error as providers write them.
pub(super) fn message(body: &Value) -> Option<String> {
    let body = body.get(0).unwrap_or(body);
    let places = ["/error/message", "/error", "/message", "/detail"];
    let mut texts = places.iter().filter_map(|place| body.pointer(place)?.as_str());
    texts.next().map(str::to_owned)
}

/// Returns the innermost cause of an error, which is what one can act on. The
/// address is left out.
fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "nobody answered in time".to_owned();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    match cause.downcast_ref::<reqwest::Error>() {
        Some(_) => "the request failed".to_owned(),
        None => cause.to_string(),
    }
}
