//! Answers questions for names, inside a sandbox.
//!
//! It knows the addresses that the gate gave out and nothing else: no question
//! is ever passed on, so none can carry anything out.

use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout, timeout_at};
use zonekeep_policy::hosts::{Host, LOCALHOST, resolvable};

use super::{Desk, Shared, listen, lock};
use crate::codec::Step;
use crate::dns::{self, Bad, Query};
use crate::event::{Event, Reason};
use crate::http::PATIENCE;

/// How long an answer holds: a name may lose its place with the sandbox.
const SECONDS: u32 = 1;

/// How many connections are served at a time.
const CONNECTIONS: usize = 32;

/// How long a connection is served at most.
const LIFE: Duration = Duration::from_secs(60);

/// How many refused names are remembered, so that each is reported once.
const REPORTED: usize = 1000;

/// The resolver of a gate.
#[derive(Debug, Default)]
pub(crate) struct Resolver {
    reported: Mutex<HashSet<String>>,
    /// Refusals that are not reported one by one any more.
    more: AtomicU64,
}

impl Resolver {
    /// Reports how many refusals were not.
    pub(crate) fn report_rest(&self, desk: &dyn Desk) {
        let more = self.more.load(Ordering::Relaxed);
        if more > 0 {
            desk.tell(&Event::Refused {
                to: "more names".to_owned(),
                reason: Reason::NotAllowed,
                detail: format!("{more} more questions for names were refused"),
            });
        }
    }
}

/// Answers datagrams.
pub(crate) async fn serve_udp(socket: UdpSocket, shared: Arc<Shared>) {
    let mut question = [0; 4096];
    loop {
        match socket.recv_from(&mut question).await {
            Ok((count, from)) => {
                if let Some(answer) = shared.answer(&question[..count]) {
                    let _ = socket.send_to(&answer, from).await;
                }
            }
            Err(error) => listen::pause(&error).await,
        }
    }
}

/// Answers connections.
pub(crate) async fn serve_tcp(listener: TcpListener, shared: Arc<Shared>) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let shared = Arc::clone(&shared);
                tokio::spawn(async move {
                    let _ = answer_all(stream, &shared).await;
                    drop(slot);
                });
            }
            Err(error) => listen::pause(&error).await,
        }
    }
}

/// Answers the questions of a connection until it ends, or is slow, or has had
/// its time.
async fn answer_all(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    let end = Instant::now() + LIFE;
    // Each whole question has its time, not each byte of one.
    let mut next = Instant::now() + PATIENCE;
    let mut bytes = Vec::new();
    loop {
        match dns::frame(&bytes) {
            Step::Done(question, used) => {
                if let Some(answer) = shared.answer(question) {
                    let answer = dns::framed(&answer);
                    timeout(PATIENCE, stream.write_all(&answer)).await??;
                }
                bytes.drain(..used);
                next = Instant::now() + PATIENCE;
            }
            Step::Bad(_) => return Ok(()),
            Step::More => {
                bytes.reserve(512);
                if timeout_at(next.min(end), stream.read_buf(&mut bytes)).await?? == 0 {
                    return Ok(());
                }
            }
        }
    }
}

impl Shared {
    /// Returns the answer to a question, if it deserves one.
    fn answer(&self, message: &[u8]) -> Option<Vec<u8>> {
        match dns::parse(message) {
            Ok(query) => Some(self.look_up(&query)),
            Err(Bad::Answer(answer)) => Some(answer),
            Err(Bad::Silent) => None,
        }
    }

    fn look_up(&self, query: &Query) -> Vec<u8> {
        if query.class != dns::IN {
            return query.refused();
        }
        let host = query.name.as_deref().map(Host::parse);
        let Some(Ok(Host::Name(name))) = host else {
            self.refuse_name(query, Reason::NotAllowed, "is not an allowed host");
            return query.no_such_name();
        };
        // That is the sandbox itself; the host's services have a name of their own.
        let asked = query.name.as_deref().unwrap_or_default();
        let here = asked.eq_ignore_ascii_case(LOCALHOST);
        if !here && !resolvable(&self.network, &self.presets, &name) {
            self.refuse_name(query, Reason::NotAllowed, "is not an allowed host");
            return query.no_such_name();
        }
        if query.kind != dns::A {
            return query.empty();
        }
        if here {
            return query.address(Ipv4Addr::LOCALHOST, SECONDS);
        }
        match lock(&self.names).address(&name) {
            Some(address) => query.address(address, SECONDS),
            None => {
                self.refuse_name(query, Reason::Limit, "is one name too many");
                query.failed()
            }
        }
    }

    /// Reports a name that has no answer, once.
    ///
    /// Only questions for an address are the wish of a program; others come along
    /// with those, or look for services that need not be there.
    fn refuse_name(&self, query: &Query, reason: Reason, why: &str) {
        const AAAA: u16 = 28;
        const ANY: u16 = 255;
        if !matches!(query.kind, dns::A | AAAA | ANY) {
            return;
        }
        {
            let mut reported = lock(&self.resolver.reported);
            let name = query.shown.to_ascii_lowercase();
            if reported.contains(&name) {
                return;
            }
            if reported.len() >= REPORTED {
                self.resolver.more.fetch_add(1, Ordering::Relaxed);
                return;
            }
            reported.insert(name);
        }
        let (to, detail) = (query.shown.clone(), format!("'{}' {why}", query.shown));
        self.desk.tell(&Event::Refused { to, reason, detail });
    }
}
