//! `zonekeep mcp`: the sandbox for any client of the Model Context Protocol.
//!
//! One handler ([`server`]) serves both eras of the protocol, on standard input
//! and output ([`wire`]) or on a port ([`http`]). It has no checks and no words of
//! its own: every call goes through `zonekeep::tools`, on a thread beside the one
//! that talks ([`call`]).

mod call;
mod desk;
mod gate;
mod http;
pub(crate) mod install;
mod news;
mod question;
mod resource;
mod rules;
mod say;
mod server;
mod wire;
pub(crate) mod wrap;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rmcp::service::serve_server;
use tokio::signal::unix::{SignalKind, signal};
use zonekeep::approve::Notifier;
use zonekeep::command::Weaker;

use self::desk::Desk;
use self::gate::Gate;
use self::news::News;
use self::rules::{Answering, Rules};
pub(crate) use self::server::Asking;
use self::server::Server;
use self::wire::Wire;
use crate::failure::{Failure, UNSAFE};
use crate::project_args::{ProjectArgs, state};

/// What to serve, and to whom.
pub(crate) struct Serving {
    pub(crate) project: ProjectArgs,
    pub(crate) worker: Option<PathBuf>,
    pub(crate) weaker: Weaker,
    pub(crate) asking: Asking,
    /// Whether a flag names somebody to ask, whatever the file says.
    pub(crate) overrides_auto: bool,
    pub(crate) answering: Answering,
    pub(crate) within: Duration,
    pub(crate) http: Option<Http>,
    /// Announces questions.
    pub(crate) notifier: Option<Arc<Notifier>>,
}

/// A port to serve on.
pub(crate) struct Http {
    pub(crate) addr: SocketAddr,
    pub(crate) token_file: PathBuf,
    pub(crate) hosts: Vec<String>,
    pub(crate) origins: Vec<String>,
}

/// Serves until the client is gone, or the program is told to end.
pub(crate) fn serve(serving: Serving) -> Result<(), Failure> {
    let Serving { project, worker, weaker, asking, overrides_auto, answering, .. } = serving;
    let Serving { within, http, notifier, .. } = serving;
    let rules = Arc::new(Rules::open(project, worker, weaker, overrides_auto, answering)?);
    let token = http.as_ref().map(|http| {
        let path = std::path::absolute(&http.token_file)?;
        if let Some(zone) = rules.sandbox().exposes(&path) {
            let why = format!("the token file {} lies in {zone}", path.display());
            return Err(Failure::message(UNSAFE, format!("{why}, where agents can read it"))
                .hint("keep it where no zone is, such as ~/.config/zonekeep/token"));
        }
        gate::token(&path)
    });
    let token = token.transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(desk::THREADS)
        .thread_keep_alive(Duration::from_secs(5))
        .build()?;
    let (desk, news) = (Arc::new(Desk::new()), Arc::new(News::new(Arc::clone(&rules))));
    let server = Server::new(
        Arc::clone(&rules),
        state()?,
        Arc::clone(&desk),
        Arc::clone(&news),
        asking,
        within,
        notifier,
    )
    .map_err(|error| Failure { status: UNSAFE, error, hint: None })?;
    let served = runtime.block_on(async {
        let told = tokio::spawn(news.tell());
        let served = tokio::select! {
            served = serve_on(server, http.zip(token), &desk) => served,
            ended = told_to_end() => ended.map_err(Failure::from),
        };
        told.abort();
        // However it ends, no command outlasts it.
        desk.close().await;
        served
    });
    rules.sandbox().background().close();
    runtime.shutdown_timeout(Duration::from_secs(1));
    served
}

/// Waits for the signal to end.
async fn told_to_end() -> std::io::Result<()> {
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut hup = signal(SignalKind::hangup())?;
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
        _ = hup.recv() => {}
    }
    Ok(())
}

/// Says whether whoever writes to standard input has closed it.
fn is_gone() -> bool {
    use crate::relay::CLOSED;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = std::io::stdin();
    let mut polled = [PollFd::new(&stdin, CLOSED)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&at_once)).is_ok()
        && polled[0].revents().intersects(PollFlags::HUP | CLOSED | PollFlags::ERR)
}

async fn serve_on(
    server: Server,
    http: Option<(Http, String)>,
    desk: &Arc<Desk>,
) -> Result<(), Failure> {
    let Some((http, token)) = http else {
        let (read, write) = rmcp::transport::io::stdio_pipes();
        let (wire, writer) = Wire::new(read, write, is_gone, Arc::clone(desk));
        match serve_server(server, wire).await {
            Ok(running) => {
                let _ = running.waiting().await;
            }
            // A client that leaves before it has said anything is no failure.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => {}
            Err(error) => return Err(Failure::new(UNSAFE, error)),
        }
        let _ = tokio::time::timeout(Duration::from_secs(2), writer).await;
        return Ok(());
    };
    let listener = tokio::net::TcpListener::bind(http.addr).await.map_err(|error| {
        Failure::message(UNSAFE, format!("cannot listen on {}: {error}", http.addr))
    })?;
    let addr = listener.local_addr()?;
    let gate = Gate::new(&token, addr, &http.hosts, &http.origins)?;
    if !addr.ip().is_loopback() {
        tell!(
            "zonekeep: warning: {addr} can be reached from other machines, and the token is sent in the clear"
        );
    }
    tell!("zonekeep: listening on http://{addr}/mcp");
    http::serve(server, listener, gate).await?;
    Ok(())
}
