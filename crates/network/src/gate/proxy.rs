//! The proxy: for programs that ask one to connect for them.

use std::sync::Arc;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use zonekeep_policy::hosts::{ConnectPermit, Destination};

use super::passage::Passage;
use super::{Shared, socks5};
use crate::dial::Line;
use crate::event::{Reason, Refusal};
use crate::http::{
    self, Ended, Form, Framing, Head, Inbox, PATIENCE, Speaks, Stop, Talk, proxied_to,
};
use crate::relay;
use crate::secret::Wire;

/// What is reported where no destination is known.
pub(super) const PROXY: &str = "proxy";

/// What a client hears when its connection stands.
const CONNECTED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// Serves a client of the proxy: HTTP or SOCKS, told by the first byte.
pub(crate) async fn serve(client: TcpStream, shared: Arc<Shared>) {
    let mut inbox = Inbox::of(&shared.account);
    match timeout(PATIENCE, inbox.fill_from(&client)).await {
        Ok(Ok(true)) => {}
        Ok(_) => return,
        Err(_) => return relay::abort(client),
    }
    match inbox.bytes().first() {
        Some(4 | 5) => socks5::serve(client, inbox, &shared).await,
        _ => serve_http(client, inbox, &shared).await,
    }
}

/// Why a client of the proxy is served no more, and what it was about.
pub(super) struct Failed {
    pub(super) to: String,
    pub(super) stop: Stop,
}

impl Failed {
    pub(super) fn new(to: impl ToString, stop: impl Into<Stop>) -> Failed {
        Failed { to: to.to_string(), stop: stop.into() }
    }

    /// Says that the client waits for an answer.
    fn answered(to: impl ToString, stop: impl Into<Stop>) -> Failed {
        Failed { to: to.to_string(), stop: stop.into().answered(true) }
    }
}

async fn serve_http(mut client: TcpStream, mut inbox: Inbox, shared: &Arc<Shared>) {
    let head = match inbox.head(&mut client).await {
        Ok(Some(head)) => Ok(head),
        Ok(None) => return,
        Err(stop) => Err(Failed::answered(PROXY, stop)),
    };
    let ended = match head {
        Ok(head) if matches!(head.form, Form::Authority(_)) => {
            return tunnel(head, client, inbox, shared).await;
        }
        Ok(head) => requests(head, &mut client, &mut inbox, shared).await,
        Err(failed) => Err(failed),
    };
    match ended {
        Ok(None) => http::close(&mut client).await,
        Ok(Some(head)) => tunnel(*head, client, inbox, shared).await,
        Err(failed) => fail(failed, client, shared).await,
    }
}

/// Reports what went wrong, and tells the client if it waits to hear it.
async fn fail(failed: Failed, mut client: TcpStream, shared: &Shared) {
    let Failed { to, stop } = failed;
    let Stop::Refused { refusal, answer } = stop else { return relay::abort(client) };
    // Many clients ask without a token first, to be told that one is needed.
    if refusal != no_token() {
        shared.report(&to, &refusal);
    }
    if answer {
        http::refuse(&mut client, &refusal).await;
    } else {
        relay::abort(client);
    }
}

fn no_token() -> Refusal {
    Refusal::new(Reason::Token, "The proxy needs its token.")
}

/// Checks that a request comes from where it should.
fn authorize(head: &Head, shared: &Shared) -> Result<(), Refusal> {
    match (&shared.token, &head.proxy_authorization) {
        (None, _) => Ok(()),
        (Some(_), None) => Err(no_token()),
        (Some(token), Some(given)) if token.is_in(given) => Ok(()),
        (Some(_), Some(_)) => Err(Refusal::new(Reason::Token, "The proxy has another token.")),
    }
}

/// Serves requests that each name their host, until there are no more, or one
/// asks for a tunnel.
async fn requests(
    first: Head,
    client: &mut TcpStream,
    inbox: &mut Inbox,
    shared: &Arc<Shared>,
) -> Result<Option<Box<Head>>, Failed> {
    let mut head = first;
    loop {
        if let Form::Authority(_) = head.form {
            return Ok(Some(Box::new(head)));
        }
        let failed = |refusal| Failed::answered(PROXY, refusal);
        authorize(&head, shared).map_err(failed)?;
        let to = shared.meant(proxied_to(&head).map_err(failed)?);
        let failed = |refusal| Failed::answered(&to, refusal);
        let permit = shared.permit(&to).await.map_err(failed)?;
        let mut heads = shared.secrets.heads(&to, Wire::Plain);
        http::check(&mut head, &to, Speaks::Proxy, &mut *heads).map_err(failed)?;
        let mut line = shared.dial(&permit).await.map_err(failed)?;
        let (speaks, meter) = (Speaks::Proxy, &line.record.meter);
        let mut talk = Talk { to: &to, speaks, heads: &mut *heads, meter, asked: None };
        let ends = (&mut *client, &mut line.stream);
        match shared.talk(head, inbox, ends, &mut talk).await {
            Ok(Ended::Done) => return Ok(None),
            Ok(Ended::Other(next)) => head = *next,
            Err(stop) => {
                let _ = line.stream.set_zero_linger();
                return Err(Failed::new(&to, stop));
            }
        }
    }
}

/// Serves CONNECT: after the answer, the connection is like any other.
async fn tunnel(head: Head, mut client: TcpStream, inbox: Inbox, shared: &Arc<Shared>) {
    let to = match tunnel_to(&head, shared) {
        Ok(to) => to,
        Err(refusal) => return fail(Failed::answered(PROXY, refusal), client, shared).await,
    };
    let (permit, line) = match shared.connect(&to).await {
        Ok(made) => made,
        Err(refusal) => return fail(Failed::answered(&to, refusal), client, shared).await,
    };
    if client.write_all(CONNECTED).await.is_err() {
        return;
    }
    let mut passage = Passage::new(shared, client, inbox, to);
    let ended = passage.go(&permit, Some(line)).await;
    passage.end(ended).await;
}

impl Shared {
    /// Judges a connection that a client asks for, and makes it.
    pub(super) async fn connect(
        self: &Arc<Shared>,
        to: &Destination,
    ) -> Result<(ConnectPermit, Line), Refusal> {
        let permit = self.permit(to).await?;
        let line = self.dial(&permit).await?;
        Ok((permit, line))
    }
}

fn tunnel_to(head: &Head, shared: &Shared) -> Result<Destination, Refusal> {
    authorize(head, shared)?;
    let Form::Authority(site) = &head.form else {
        return Err(Refusal::protocol("only CONNECT asks for a tunnel"));
    };
    if !matches!(head.framing, Framing::None | Framing::Length(0)) {
        return Err(Refusal::protocol("CONNECT has no body"));
    }
    if let Some(host) = &head.host
        && host.host != site.host
    {
        let why = format!("CONNECT is for '{site}', and its Host is '{host}'");
        return Err(Refusal::new(Reason::Mismatch, why));
    }
    Ok(shared.meant(site.destination(443)))
}
