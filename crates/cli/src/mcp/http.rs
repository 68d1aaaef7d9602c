//! The server on a port: for whoever has the token, and for no web page.
//!
//! Every request is checked before anything else looks at it: the token, the host
//! that it was sent to (so that a name which an attacker points at this machine
//! leads nowhere), and the page that it comes from.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, ORIGIN, WWW_AUTHENTICATE,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::server::Server;
use super::wire::{self, MAX_MESSAGE};
use crate::failure::{Failure, UNSAFE, USAGE};

/// The path that clients talk to.
const PATH: &str = "/mcp";
/// The most connections at a time; more wait.
const MAX_CONNECTIONS: usize = 256;
/// How long a client may take to send the head of a request.
const HEAD: Duration = Duration::from_secs(10);
/// How long a client may take to send the rest of a request.
const REST: Duration = Duration::from_secs(30);
/// The most clients that have a session; those of 2026-07-28 need none.
const MAX_SESSIONS: usize = 64;
/// How long a session is kept in which nothing is said; longer than any call takes
/// that the user waits for.
const KEPT: Duration = Duration::from_secs(2 * 60 * 60);
/// The fewest characters of a token that is hard to guess.
const MIN_TOKEN: usize = 32;

/// Who may talk to the server.
pub(super) struct Gate {
    /// The token's digest, so that comparing tells nothing about it.
    token: [u8; 32],
    hosts: Vec<String>,
    origins: Vec<String>,
}

/// Reads the token from a file, which is made with a new one where it is missing.
pub(super) fn token(path: &Path) -> Result<String, Failure> {
    let says =
        |why: String| Failure::message(UNSAFE, format!("the token file {}: {why}", path.display()));
    match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => {
            let mut random = [0; 32];
            getrandom::fill(&mut random).map_err(|error| says(error.to_string()))?;
            let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
            std::io::Write::write_all(&mut file, format!("{token}\n").as_bytes())?;
            eprintln!("zonekeep: made the token file {}", path.display());
            return Ok(token);
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(says(error.to_string())),
    }
    let file = std::fs::File::open(path).map_err(|error| says(error.to_string()))?;
    let meta = file.metadata()?;
    if !meta.is_file() || meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(says("it has to be a file of yours".to_owned()));
    }
    if meta.mode() & 0o077 != 0 {
        return Err(says("others can read or write it".to_owned())
            .hint("make it yours alone with `chmod 600`"));
    }
    let mut text = String::new();
    std::io::Read::read_to_string(&mut std::io::Read::take(file, 4096), &mut text)?;
    let token = text.trim();
    if token.len() < MIN_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let why = format!("a token has at least {MIN_TOKEN} characters and no blanks");
        return Err(says(why).hint("remove the file, and a new one is made"));
    }
    Ok(token.to_owned())
}

impl Gate {
    /// Returns a gate for a server at `addr`, which is also known by the names
    /// `hosts`, for pages from `origins`.
    pub(super) fn new(
        token: &str,
        addr: SocketAddr,
        hosts: &[String],
        origins: &[String],
    ) -> Result<Self, Failure> {
        let port = addr.port();
        let mut names: Vec<String> = match addr.ip().is_loopback() {
            true => ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).to_vec(),
            false => Vec::new(),
        };
        names.push(match addr.ip() {
            std::net::IpAddr::V4(ip) => ip.to_string(),
            std::net::IpAddr::V6(ip) => format!("[{ip}]"),
        });
        for host in hosts {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-._[]:".contains(c);
            if host.is_empty() || !host.chars().all(plain) {
                return Err(Failure::message(
                    USAGE,
                    format!("--allow-host {host}: write a name, or NAME:PORT"),
                ));
            }
            names.push(host.to_ascii_lowercase());
        }
        let with_port = |name: &String| {
            let is_bare = name
                .rsplit_once(':')
                .is_none_or(|(_, tail)| tail.ends_with(']') || tail.parse::<u16>().is_err());
            if is_bare { format!("{name}:{port}") } else { name.clone() }
        };
        let mut hosts: Vec<String> = names.iter().map(with_port).collect();
        // Clients leave the usual port out.
        if port == 80 {
            hosts.extend(names);
        }
        for origin in origins {
            if !origin.starts_with("http://") && !origin.starts_with("https://") {
                let says =
                    format!("--allow-origin {origin}: write one such as https://example.org");
                return Err(Failure::message(USAGE, says));
            }
        }
        let origins =
            origins.iter().map(|origin| origin.trim_end_matches('/').to_ascii_lowercase());
        let token = Sha256::digest(token.as_bytes()).into();
        Ok(Gate { token, hosts, origins: origins.collect() })
    }

    /// Says why a request is turned away.
    fn refuses(
        &self,
        headers: &HeaderMap,
        authority: Option<&str>,
    ) -> Option<(StatusCode, &'static str)> {
        let mut hosts = headers.get_all(HOST).iter();
        let host = match (hosts.next().map(|host| host.to_str()), hosts.next()) {
            (Some(Ok(host)), None) => host.to_ascii_lowercase(),
            _ => return Some((StatusCode::BAD_REQUEST, "a request names one host")),
        };
        let known = |name: &str| self.hosts.iter().any(|host| *host == name);
        if !known(&host) || authority.is_some_and(|name| !known(&name.to_ascii_lowercase())) {
            return Some((StatusCode::FORBIDDEN, "this server is not known by that name"));
        }
        for origin in headers.get_all(ORIGIN) {
            let allowed = origin.to_str().is_ok_and(|origin| {
                self.origins.iter().any(|allowed| *allowed == origin.to_ascii_lowercase())
            });
            if !allowed {
                return Some((
                    StatusCode::FORBIDDEN,
                    "web pages from there may not talk to this server",
                ));
            }
        }
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let token = match (given.next().map(|value| value.to_str()), given.next()) {
            (Some(Ok(value)), None) => match value.split_once(' ') {
                Some((kind, token)) if kind.eq_ignore_ascii_case("bearer") => token.trim(),
                _ => "",
            },
            _ => "",
        };
        match <[u8; 32]>::from(Sha256::digest(token.as_bytes())) == self.token {
            true => None,
            false => Some((StatusCode::UNAUTHORIZED, "the token is missing or wrong")),
        }
    }
}

/// Returns whether a request would begin a session.
fn begins_session(headers: &HeaderMap) -> bool {
    let modern = headers.get("mcp-protocol-version").and_then(|version| version.to_str().ok());
    !headers.contains_key("mcp-session-id") && modern.is_none_or(|version| version < "2026-07-28")
}

type Body = UnsyncBoxBody<Bytes, Infallible>;

fn plain(status: StatusCode, says: &'static str) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(format!("{says}\n"))).boxed_unsync());
    *response.status_mut() = status;
    if status == StatusCode::UNAUTHORIZED {
        let value = HeaderValue::from_static("Bearer");
        response.headers_mut().insert(WWW_AUTHENTICATE, value);
    }
    response
}

/// Reads a request to its end; what is no message is answered at once, in the words
/// that other clients get.
async fn read(request: Request<Incoming>) -> Result<Request<Full<Bytes>>, Response<Body>> {
    let (head, body) = request.into_parts();
    let read = tokio::time::timeout(REST, Limited::new(body, MAX_MESSAGE).collect()).await;
    let bytes = match read {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            return Err(plain(StatusCode::PAYLOAD_TOO_LARGE, "the message is too long"));
        }
        Ok(Err(_)) => return Err(plain(StatusCode::BAD_REQUEST, "the message breaks off")),
        Err(_) => return Err(plain(StatusCode::REQUEST_TIMEOUT, "the message took too long")),
    };
    if head.method == hyper::Method::POST
        && let Err((error, id)) = wire::parse(&bytes)
    {
        let line = wire::written(&ServerJsonRpcMessage::error(error, id));
        let mut response = Response::new(Full::new(Bytes::from(line)).boxed_unsync());
        *response.status_mut() = StatusCode::BAD_REQUEST;
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        return Err(response);
    }
    Ok(Request::from_parts(head, Full::new(bytes)))
}

/// Serves until the server is over.
pub(super) async fn serve(
    server: Server,
    listener: TcpListener,
    gate: Gate,
) -> std::io::Result<()> {
    let over = server.desk().over().clone();
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(gate.hosts.clone())
        .with_allowed_origins(gate.origins.clone())
        .enforce_origin_validation()
        .with_max_request_body_bytes(MAX_MESSAGE)
        .with_cancellation_token(over.child_token());
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(KEPT);
    let sessions = Arc::new(sessions);
    let held = Arc::clone(&sessions);
    let service = StreamableHttpService::new(move || Ok(server.for_another()), held, config);
    let gate = Arc::new(gate);
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            accepted = async {
                let seat = Arc::clone(&room).acquire_owned().await;
                (listener.accept().await, seat)
            } => accepted,
            () = over.cancelled() => return Ok(()),
        };
        let ((stream, _), seat) = match accepted {
            (Ok(accepted), Ok(seat)) => (accepted, seat),
            (Err(_), _) => {
                // Too many open files, or somebody who left again.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
            (_, Err(_)) => return Ok(()),
        };
        let _ = stream.set_nodelay(true);
        let (service, gate, over) = (service.clone(), Arc::clone(&gate), over.clone());
        let sessions = Arc::clone(&sessions);
        tokio::spawn(async move {
            let _seat = seat;
            let answer = service_fn(move |request: Request<Incoming>| {
                let (service, gate) = (service.clone(), Arc::clone(&gate));
                let sessions = Arc::clone(&sessions);
                async move {
                    let authority = request.uri().authority().map(|name| name.as_str().to_owned());
                    let refused = gate.refuses(request.headers(), authority.as_deref());
                    Ok::<_, Infallible>(match refused {
                        Some((status, says)) => plain(status, says),
                        None if request.uri().path() != PATH => {
                            plain(StatusCode::NOT_FOUND, "there is only /mcp")
                        }
                        None if begins_session(request.headers())
                            && sessions.sessions.read().await.len() >= MAX_SESSIONS =>
                        {
                            plain(
                                StatusCode::SERVICE_UNAVAILABLE,
                                "too many clients have a session",
                            )
                        }
                        None => {
                            let ends = request.method() == hyper::Method::DELETE;
                            let request = match read(request).await {
                                Ok(request) => request,
                                Err(response) => return Ok(response),
                            };
                            let (mut head, body) = service.handle(request).await.into_parts();
                            // Some clients take "accepted" for a failure.
                            if ends && head.status == StatusCode::ACCEPTED {
                                head.status = StatusCode::NO_CONTENT;
                            }
                            Response::from_parts(
                                head,
                                body.map_err(|never| match never {}).boxed_unsync(),
                            )
                        }
                    })
                }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD)
                .max_buf_size(64 * 1024)
                .serve_connection(TokioIo::new(stream), answer);
            tokio::select! {
                // Whoever breaks off has had enough.
                _ = connection => {}
                () = over.cancelled() => {}
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn who_is_let_in() {
        let addr = "127.0.0.1:7000".parse().unwrap();
        let gate = Gate::new(
            TOKEN,
            addr,
            &["Box.example".into(), "other.example:9".into()],
            &["https://app.example/".into()],
        )
        .unwrap();
        let bearer = format!("Bearer {TOKEN}");
        let (host, auth) = (("host", "127.0.0.1:7000"), ("authorization", bearer.as_str()));
        let cases: &[(&[(&'static str, &str)], Option<u16>)] = &[
            (&[host, auth], None),
            (&[("host", "localhost:7000"), auth], None),
            (&[("host", "[::1]:7000"), auth], None),
            (&[("host", "box.example:7000"), auth], None),
            (&[("host", "BOX.example:7000"), auth], None),
            (&[("host", "other.example:9"), auth], None),
            (&[host, auth, ("origin", "https://app.example")], None),
            (&[auth], Some(400)),
            (&[host, host, auth], Some(400)),
            (&[("host", "localhost"), auth], Some(403)),
            (&[("host", "localhost:7001"), auth], Some(403)),
            (&[("host", "evil.example:7000"), auth], Some(403)),
            (&[("host", "localhost.evil.example:7000"), auth], Some(403)),
            (&[host, auth, ("origin", "http://localhost:7000")], Some(403)),
            (&[host, auth, ("origin", "null")], Some(403)),
            (
                &[
                    host,
                    auth,
                    ("origin", "https://app.example"),
                    ("origin", "https://evil.example"),
                ],
                Some(403),
            ),
            (&[host, auth, ("origin", "https://app.example.evil")], Some(403)),
            (&[host], Some(401)),
            (&[host, ("authorization", "Bearer")], Some(401)),
            (&[host, ("authorization", "Bearer ")], Some(401)),
            (&[host, ("authorization", TOKEN)], Some(401)),
            (&[host, ("authorization", "Basic 0123456789abcdef0123456789abcdef")], Some(401)),
            (&[host, ("authorization", "Bearer 0123456789abcdef0123456789abcdeF")], Some(401)),
            (&[host, auth, auth], Some(401)),
        ];
        for (given, want) in cases {
            let got = gate.refuses(&headers(given), None).map(|(status, _)| status.as_u16());
            assert_eq!(got, *want, "{given:?}");
        }
        let good = headers(&[host, auth]);
        assert_eq!(gate.refuses(&good, Some("evil.example")).map(|r| r.0.as_u16()), Some(403));
    }

    #[test]
    fn a_token_is_private_and_hard_to_guess() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let made = token(&path).unwrap();
        assert_eq!(made.len(), 64);
        assert_eq!(token(&path).unwrap(), made);
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        assert!(token(&path).is_err());
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        for text in ["", "short", "0123456789abcdef 0123456789abcdef"] {
            std::fs::write(&path, text).unwrap();
            assert!(token(&path).is_err(), "{text:?}");
        }
        assert!(token(dir.path()).is_err());
    }
}
