//! The way of one connection through the gate, from its first byte.

use std::io::Cursor;
use std::pin::pin;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use zonekeep_policy::hosts::{ConnectPermit, Destination, Host, is_web};

use super::first::{First, tell, tell_whole};
use super::watch::Watch;
use super::{Shared, lock, tls};
use crate::dial::{Dialer, Line};
use crate::event::{Reason, Refusal};
use crate::http::{self, Ended, Head, Heads, Inbox, PATIENCE, Speaks, Stop, Talk};
use crate::relay::{self, IDLE, Lane};
use crate::secret::Wire;
use crate::terminate;

/// The most bytes of a client that are held until it is clear what it speaks.
const HELD: usize = 64 * 1024;

/// The most pieces in which these may come.
const PIECES: usize = 1000;

/// Serves a connection to one of the addresses that hosts have inside.
pub(crate) async fn serve(client: TcpStream, shared: Arc<Shared>) {
    let Ok(at) = client.local_addr() else { return };
    let who = lock(&shared.names).who(at);
    let Some(host) = who else {
        let refusal = Refusal::new(Reason::NotAllowed, format!("no allowed host is at '{at}'"));
        shared.report(&at.to_string(), &refusal);
        return relay::abort(client);
    };
    let to = Destination { host, port: at.port() };
    let mut passage = Passage::new(&shared, client, Inbox::of(&shared.account), to);
    let ended = match shared.permit(&passage.to).await {
        Ok(permit) => passage.go(&permit, None).await,
        Err(refusal) => {
            // Who speaks something that has room for it is told why.
            let spoken = listen(&passage.client, &mut passage.inbox);
            let spoken = timeout(PATIENCE, spoken).await;
            passage.spoken = spoken.ok().and_then(Result::ok).flatten();
            Err(Stop::Refused { refusal, answer: true })
        }
    };
    passage.end(ended).await;
}

/// A client, and what is known of it.
pub(crate) struct Passage<'p> {
    shared: &'p Arc<Shared>,
    client: TcpStream,
    inbox: Inbox,
    to: Destination,
    /// What the client speaks, once that is known.
    spoken: Option<First>,
}

impl<'p> Passage<'p> {
    pub(crate) fn new(
        shared: &'p Arc<Shared>,
        client: TcpStream,
        inbox: Inbox,
        to: Destination,
    ) -> Passage<'p> {
        Passage { shared, client, inbox, to, spoken: None }
    }

    /// Takes a permitted connection to its end; a proxy has dialled before.
    pub(crate) async fn go(
        &mut self,
        permit: &ConnectPermit,
        line: Option<Line>,
    ) -> Result<(), Stop> {
        // Where values of secrets go, everything has to be read, answers too.
        if is_web(self.to.port) || self.shared.secrets.ends_tls(&self.to) {
            return self.web(permit, line).await;
        }
        let line = match line {
            Some(line) => line,
            None => self.shared.dial(permit).await?,
        };
        self.any(line).await
    }

    /// Ends the connection: the client is told what it can understand.
    pub(crate) async fn end(mut self, ended: Result<(), Stop>) {
        let (refusal, answer) = match ended {
            Ok(()) => return,
            Err(Stop::Gone) => return relay::abort(self.client),
            Err(Stop::Refused { refusal, answer }) => (refusal, answer),
        };
        self.shared.report(&self.to.to_string(), &refusal);
        match self.spoken {
            Some(First::Http) if answer => http::refuse(&mut self.client, &refusal).await,
            Some(First::Tls) if answer => {
                if self.client.write_all(&tls::ALERT).await.is_ok() {
                    http::close(&mut self.client).await;
                }
            }
            _ => relay::abort(self.client),
        }
    }

    /// The ports of the web, and hosts that get secrets: TLS or HTTP, and the
    /// client speaks first.
    async fn web(&mut self, permit: &ConnectPermit, line: Option<Line>) -> Result<(), Stop> {
        let slow = |_| Refusal::protocol("nothing was said within 10 s");
        let spoken = timeout(PATIENCE, listen(&self.client, &mut self.inbox)).await;
        self.spoken = spoken.map_err(slow)??;
        match self.spoken {
            None => Ok(()),
            Some(First::Tls) => {
                let used = self.hello().await?;
                let line = self.dialled(permit, line).await?;
                self.tls(line, used).await
            }
            Some(First::Http) => {
                let mut heads = self.shared.secrets.heads(&self.to, Wire::Plain);
                let Some(head) = self.request(&mut *heads).await? else { return Ok(()) };
                let line = self.dialled(permit, line).await?;
                self.http(head, line, &mut *heads).await
            }
            Some(First::Other) if !is_web(self.to.port) => {
                let why = "only TLS and HTTP are spoken with a host that gets secrets";
                Err(Refusal::new(Reason::Secret, why).into())
            }
            Some(First::Other) => {
                Err(Refusal::protocol("only TLS and HTTP may be spoken on this port").into())
            }
        }
    }

    async fn dialled(&self, permit: &ConnectPermit, line: Option<Line>) -> Result<Line, Stop> {
        match line {
            Some(line) => Ok(line),
            None => answered(self.shared.dial(permit).await),
        }
    }

    /// Other ports: whoever speaks first, whatever is spoken. But TLS and HTTP say
    /// which host they are for, and are held to it.
    async fn any(&mut self, line: Line) -> Result<(), Stop> {
        let (meter, pool) = (&line.record.meter, &self.shared.pool);
        let mut look = self.shared.look();
        {
            let lane = Lane::into(meter);
            let mut answers = pin!(relay::pump(&line.stream, &self.client, lane, pool));
            // A server may have said all that it has to say before the client speaks.
            let mut is_silent = false;
            self.spoken = loop {
                tokio::select! {
                    first = listen(&self.client, &mut self.inbox) => break first?,
                    ended = &mut answers, if !is_silent => {
                        ended?;
                        is_silent = true;
                    }
                    () = meter.idle(IDLE) => return Ok(()),
                }
            };
            let answers = async {
                match is_silent {
                    true => Ok(()),
                    false => answers.await,
                }
            };
            if self.is_opaque() {
                let early = self.inbox.take();
                let look = look.as_mut().map(|look| &mut **look as &mut dyn Heads);
                let out = self.watched(early, &line.stream, Lane::out(meter, look));
                return hang_up(relay::join(out, answers, meter).await, &line.stream);
            }
        }
        // Servers of these wait for the client; what this one has said already
        // may not have arrived whole.
        if meter.passed().1 > 0 {
            return Err(Refusal::protocol("the server has spoken before the client").into());
        }
        if self.spoken == Some(First::Tls) {
            let used = self.hello().await?;
            return self.tls(line, used).await;
        }
        let mut heads = self.shared.secrets.heads(&self.to, Wire::Plain);
        match self.request(&mut *heads).await? {
            Some(head) => self.http(head, line, &mut *heads).await,
            None => Ok(()),
        }
    }

    /// Carries what a client says that speaks neither TLS nor HTTP, as long as it
    /// does not turn to them under another name.
    async fn watched(
        &self,
        early: Vec<u8>,
        server: &TcpStream,
        mut lane: Lane<'_>,
    ) -> Result<(), Stop> {
        let mut inbox = Inbox::of(&self.shared.account);
        inbox.put(early);
        let mut watch = Watch::new((!self.is_nameless()).then_some(&self.to));
        // One who speaks plain HTTP/2 has said so.
        while self.spoken != Some(First::Http) && !watch.is_over() {
            let count = watch.see(inbox.bytes())?;
            relay::send(server, &inbox.bytes()[..count], &mut lane).await?;
            inbox.consume(count);
            let begun = !inbox.bytes().is_empty();
            let more = inbox.fill_from(&self.client);
            let more = if begun {
                // The rest of a hello does not come as slowly as it likes.
                let slow = |_| Refusal::protocol("the TLS hello did not come within 10 s");
                timeout(PATIENCE, more).await.map_err(slow)??
            } else {
                more.await?
            };
            if !more {
                break;
            }
            tokio::task::yield_now().await;
        }
        if watch.is_over() || self.spoken == Some(First::Http) {
            relay::send(server, inbox.bytes(), &mut lane).await?;
        }
        relay::pump(&self.client, server, lane, &self.shared.pool).await
    }

    /// Returns whether there is no other host to be had there by a name: with the
    /// host's own services, and listed addresses.
    fn is_nameless(&self) -> bool {
        self.to.host.is_localhost() || matches!(self.to.host, Host::Address(_))
    }

    /// Returns whether nothing of what the client says names a host.
    ///
    /// HTTP/2 without TLS is not read here, and only passes where no name matters.
    fn is_opaque(&self) -> bool {
        match self.spoken {
            None | Some(First::Other) => true,
            Some(First::Tls) => false,
            Some(First::Http) => {
                self.is_nameless() && self.inbox.bytes().starts_with(b"PRI * HTTP/2.0\r\n")
            }
        }
    }

    /// Reads the client's hello, and holds it to the host.
    async fn hello(&mut self) -> Result<usize, Stop> {
        answered(tls::read_hello(&mut self.inbox, &mut self.client, &self.to).await)
    }

    /// Reads the client's first request, and holds it to the host.
    async fn request(&mut self, heads: &mut dyn Heads) -> Result<Option<Head>, Stop> {
        let Some(mut head) = answered(self.inbox.head(&mut self.client).await)? else {
            return Ok(None);
        };
        answered(http::check(&mut head, &self.to, Speaks::Plain, heads))?;
        Ok(Some(head))
    }

    async fn http(
        &mut self,
        head: Head,
        mut line: Line,
        heads: &mut dyn Heads,
    ) -> Result<(), Stop> {
        let meter = &line.record.meter;
        let speaks = Speaks::Plain;
        let mut talk = Talk { to: &self.to, speaks, heads, meter, asked: None };
        let ends = (&mut self.client, &mut line.stream);
        let ended = self.shared.talk(head, &mut self.inbox, ends, &mut talk).await;
        hang_up(ended.map(|_| ()), &line.stream)?;
        drop(line);
        http::close(&mut self.client).await;
        Ok(())
    }

    async fn tls(&mut self, mut line: Line, used: usize) -> Result<(), Stop> {
        if self.shared.secrets.ends_tls(&self.to) {
            return self.ended_tls(line).await;
        }
        let ends = (&mut self.client, &mut line.stream);
        let hello = (&mut self.inbox, used);
        let meter = &line.record.meter;
        let ended = tls::relay(hello, ends, &self.to, meter, &self.shared.pool).await;
        hang_up(ended, &line.stream)
    }

    /// Ends the client's TLS here, and speaks TLS of its own to the server.
    async fn ended_tls(&mut self, line: Line) -> Result<(), Stop> {
        let Some(authority) = &self.shared.authority else {
            let why = "there is nobody who could sign for a host that gets secrets";
            return answered(Err(Refusal::new(Reason::Secret, why)));
        };
        let Line { stream, record } = line;
        let early = Cursor::new(self.inbox.take());
        let (read, write) = self.client.split();
        // What was read already comes first.
        let client = tokio::io::join(early.chain(read), write);
        let ends = terminate::open(client, stream, &self.to, authority).await?;
        let (mut client, mut server) = ends;
        let mut heads = self.shared.secrets.heads(&self.to, Wire::Tls);
        let mut inbox = Inbox::of(&self.shared.account);
        let ended = async {
            let Some(mut head) = answered(inbox.head(&mut client).await)? else { return Ok(()) };
            answered(http::check(&mut head, &self.to, Speaks::Tls, &mut *heads))?;
            let (to, heads, meter) = (&self.to, &mut *heads, &record.meter);
            let mut talk = Talk { to, speaks: Speaks::Tls, heads, meter, asked: None };
            let ends = (&mut client, &mut server);
            let mask = self.shared.secrets.mask(to);
            http::over_streams(head, &mut inbox, ends, &mut talk, mask).await.map(|_| ())
        };
        let idle = record.meter.idle(IDLE);
        let ended = tokio::select! { ended = ended => ended, () = idle => Ok(()) };
        match ended {
            Err(Stop::Refused { refusal, answer: true }) => {
                self.shared.report(&self.to.to_string(), &refusal);
                http::refuse(&mut client, &refusal).await;
                Ok(())
            }
            Ok(()) => {
                drop((server, record));
                http::close(&mut client).await;
                Ok(())
            }
            stop => stop,
        }
    }
}

/// Reads until it is clear what a client speaks; `None` where it ends before.
async fn listen(client: &TcpStream, inbox: &mut Inbox) -> Result<Option<First>, Stop> {
    if inbox.bytes().is_empty() && !inbox.fill_from(client).await? {
        return Ok(None);
    }
    let told = async {
        // All of it is looked at again with each piece, so pieces are limited too.
        for _ in 0..PIECES {
            if let Some(first) = tell(inbox.bytes()) {
                return Ok(Some(first));
            }
            if inbox.bytes().len() > HELD {
                break;
            }
            if !inbox.fill_from(client).await? {
                return Ok(Some(tell_whole(inbox.bytes())));
            }
        }
        Err(Refusal::protocol("the first line does not end").into())
    };
    let slow = |_| Refusal::protocol("the first line did not come within 10 s");
    timeout(PATIENCE, told).await.map_err(slow)?
}

/// Says that the client waits for an answer.
fn answered<T>(result: Result<T, impl Into<Stop>>) -> Result<T, Stop> {
    result.map_err(|stop| stop.into().answered(true))
}

/// Cuts the connection to the server where the client's was cut, so that it does
/// not take half of something for the whole.
fn hang_up(ended: Result<(), Stop>, server: &TcpStream) -> Result<(), Stop> {
    if ended.is_err() {
        let _ = server.set_zero_linger();
    }
    ended
}

impl Shared {
    /// Dials what a permit is for.
    pub(crate) async fn dial(&self, permit: &ConnectPermit) -> Result<Line, Refusal> {
        let Shared { network, limits, account, desk, workers, .. } = self;
        Dialer { network, limits, account, desk, workers }.dial(permit).await
    }

    /// Serves the requests of a plain connection, of which the first was checked.
    pub(crate) async fn talk(
        &self,
        first: Head,
        inbox: &mut Inbox,
        (client, server): (&mut TcpStream, &mut TcpStream),
        talk: &mut Talk<'_>,
    ) -> Result<Ended, Stop> {
        match self.secrets.mask(talk.to) {
            None => http::over_tcp(first, inbox, (client, server), talk, &self.pool).await,
            mask => http::over_streams(first, inbox, (client, server), talk, mask).await,
        }
    }

    /// Returns what looks at bytes that nobody reads, if there is anything to find.
    fn look(&self) -> Option<Box<dyn Heads>> {
        (!self.secrets.is_empty()).then(|| self.secrets.scan())
    }
}

#[cfg(test)]
#[path = "passage_tests.rs"]
mod tests;
