//! The server on a port: for whoever has the token, and for no web page.
//!
//! Every request is checked before anything else looks at it: the token, the host
//! that it was sent to (so that a name which an attacker points at this machine
//! leads nowhere), and the page that it comes from.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue, ORIGIN, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{
    SessionManager, StreamableHttpServerConfig, StreamableHttpService,
};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

use super::gate::Gate;
use super::server::Server;
use super::wire::{self, MAX_MESSAGE};

/// The path that clients talk to.
const PATH: &str = "/mcp";
/// The header with the name of a session.
const SESSION: &str = "mcp-session-id";
/// The most connections at a time.
const MAX_CONNECTIONS: usize = 512;
/// The most of them that have not shown the token.
const MAX_STRANGERS: usize = 128;
/// How long a client may take to send the head of a request.
const HEAD: Duration = Duration::from_secs(10);
/// How long nothing was said in a session that is given up for another one.
const SILENT: Duration = Duration::from_secs(10 * 60);
/// How long a client may take to send the rest of a request.
const REST: Duration = Duration::from_secs(30);
/// The most clients that have a session; those of 2026-07-28 need none.
const MAX_SESSIONS: usize = 64;
/// How long a session is kept in which nothing is said; longer than any call takes
/// that the user waits for.
const KEPT: Duration = Duration::from_secs(2 * 60 * 60);
/// Returns whether a request would begin a session.
fn begins_session(headers: &HeaderMap) -> bool {
    let modern = headers.get("mcp-protocol-version").and_then(|version| version.to_str().ok());
    !headers.contains_key(SESSION) && modern.is_none_or(|version| version < "2026-07-28")
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

/// Those who have not shown the token yet, the oldest first.
#[derive(Default)]
struct Strangers(Mutex<VecDeque<(u64, AbortHandle)>>);

impl Strangers {
    fn list(&self) -> MutexGuard<'_, VecDeque<(u64, AbortHandle)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one in; where there are too many, the oldest goes.
    fn take_in(&self, number: u64, stranger: AbortHandle) {
        let mut list = self.list();
        if list.len() >= MAX_STRANGERS
            && let Some((_, oldest)) = list.pop_front()
        {
            oldest.abort();
        }
        list.push_back((number, stranger));
    }

    fn let_go(&self, number: u64) {
        self.list().retain(|(other, _)| *other != number);
    }
}

/// What all connections share.
struct Hall {
    gate: Gate,
    service: StreamableHttpService<Server, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    /// When each session was last spoken in.
    spoken: Mutex<HashMap<String, Instant>>,
    strangers: Strangers,
}

impl Hall {
    /// Makes room for a session; returns whether there is some.
    async fn make_room(&self) -> bool {
        let held: Vec<_> = self.sessions.sessions.read().await.keys().cloned().collect();
        let silent = {
            let mut spoken = self.spoken.lock().unwrap_or_else(PoisonError::into_inner);
            spoken.retain(|id, _| held.iter().any(|held| **held == **id));
            if held.len() < MAX_SESSIONS {
                return true;
            }
            let since = |id: &str| spoken.get(id).map_or(SILENT, Instant::elapsed);
            held.into_iter().max_by_key(|id| since(id)).filter(|id| since(id) >= SILENT)
        };
        match silent {
            Some(id) => self.sessions.close_session(&id).await.is_ok(),
            None => false,
        }
    }

    /// Notes that something was said in the session that a message names.
    fn speak(&self, headers: &HeaderMap) {
        if let Some(id) = headers.get(SESSION).and_then(|id| id.to_str().ok()) {
            let mut spoken = self.spoken.lock().unwrap_or_else(PoisonError::into_inner);
            if spoken.len() < 2 * MAX_SESSIONS || spoken.contains_key(id) {
                spoken.insert(id.to_owned(), Instant::now());
            }
        }
    }

    async fn answer(&self, number: u64, request: Request<Incoming>) -> Response<Body> {
        let authority = request.uri().authority().map(|name| name.as_str().to_owned());
        let (method, headers) = (request.method().clone(), request.headers());
        if let Some((status, says)) = self.gate.refuses(&method, headers, authority.as_deref()) {
            return plain(status, says);
        }
        let origin = headers.get(ORIGIN).cloned();
        if method == Method::OPTIONS && origin.is_some() {
            let mut response = plain(StatusCode::NO_CONTENT, "");
            Gate::tell_browser(origin.as_ref(), response.headers_mut());
            return response;
        }
        self.strangers.let_go(number);
        if request.uri().path() != PATH {
            return plain(StatusCode::NOT_FOUND, "there is only /mcp");
        }
        if begins_session(headers) && !self.make_room().await {
            return plain(StatusCode::SERVICE_UNAVAILABLE, "too many clients have a session");
        }
        self.speak(headers);
        let request = match read(request).await {
            Ok(request) => request,
            Err(response) => return response,
        };
        let (mut head, body) = self.service.handle(request).await.into_parts();
        self.speak(&head.headers);
        // Some clients take "accepted" for a failure.
        if method == Method::DELETE && head.status == StatusCode::ACCEPTED {
            head.status = StatusCode::NO_CONTENT;
        }
        Gate::tell_browser(origin.as_ref(), &mut head.headers);
        Response::from_parts(head, body.map_err(|never| match never {}).boxed_unsync())
    }
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
    let (spoken, strangers) = (Mutex::default(), Strangers::default());
    let hall = Arc::new(Hall { gate, service, sessions, spoken, strangers });
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    for number in 0.. {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = over.cancelled() => return Ok(()),
        };
        let Ok((stream, _)) = accepted else {
            // Too many open files, or somebody who left again.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        // Nobody waits for a seat here: whoever comes when all are taken is turned away.
        let Ok(seat) = Arc::clone(&room).try_acquire_owned() else { continue };
        let _ = stream.set_nodelay(true);
        let (here, over) = (Arc::clone(&hall), over.clone());
        let task = tokio::spawn(async move {
            let _seat = seat;
            let answering = Arc::clone(&here);
            let answer = service_fn(move |request: Request<Incoming>| {
                let hall = Arc::clone(&answering);
                async move { Ok::<_, Infallible>(hall.answer(number, request).await) }
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
            here.strangers.let_go(number);
        });
        hall.strangers.take_in(number, task.abort_handle());
    }
    Ok(())
}
