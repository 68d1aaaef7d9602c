//! The requests of a connection, one after the other, each checked.

use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;
use zonekeep_policy::hosts::Destination;

use super::answers::Asked;
use super::body::{Body, Part};
use super::head::{After, Form, Framing, Head};
use super::inbox::{Inbox, PATIENCE};
use super::site::Site;
use super::{Heads, Stop};
use crate::account::{Meter, Way};
use crate::event::{Reason, Refusal};
use crate::relay::IDLE;

/// What a connection is for, and what its requests are held to.
pub(crate) struct Talk<'t> {
    pub(crate) to: &'t Destination,
    pub(crate) speaks: Speaks,
    pub(crate) heads: &'t mut dyn Heads,
    pub(crate) meter: &'t Meter,
    /// Where requests are noted, if their answers are read.
    pub(crate) asked: Option<Asked>,
}

impl Talk<'_> {
    /// Returns the text of a request's head, which is sent next.
    pub(super) fn next(&self, head: &Head) -> Result<Vec<u8>, Refusal> {
        let text = head.write()?;
        if let Some(asked) = &self.asked {
            asked.push(head)?;
        }
        self.meter.take(Way::Out, text.len())?;
        Ok(text)
    }
}

/// Whom a client takes the gate for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaks {
    /// The server.
    Plain,
    /// The server, in TLS that is ended here.
    Tls,
    /// A proxy: each request names its host.
    Proxy,
}

/// How the requests of a connection ended, where nothing was wrong.
#[derive(Debug)]
pub(crate) enum Ended {
    /// No more of them come.
    Done,
    /// The next one is for another host, which a proxy has to find first.
    Other(Box<Head>),
}

/// Sends a checked request and all that follow it, until one is not for the
/// same destination. Without a first one, it was sent already.
///
/// `responses` carries the answers back meanwhile, and ends when the server
/// does: then the connection is over, whatever the client still sends.
pub(crate) async fn exchange<R, W, F>(
    first: Option<Box<Head>>,
    inbox: &mut Inbox,
    (from, to): (&mut R, &mut W),
    mut responses: Pin<&mut F>,
    talk: &mut Talk<'_>,
) -> Result<Ended, Stop>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
    F: Future<Output = Result<(), Stop>>,
{
    let meter = talk.meter;
    let work = async {
        let ended = tokio::select! {
            ended = requests(first, inbox, from, to, talk) => ended,
            ended = &mut responses => return ended.map(|()| Ended::Done),
        };
        match ended {
            Ok(Ended::Done) => {
                // The last answer may still be on its way.
                let _ = to.shutdown().await;
                responses.await?;
                Ok(Ended::Done)
            }
            // A server that has heard enough answers and hangs up; a client that is
            // gone hears nothing.
            Err(Stop::Gone) => match timeout(PATIENCE, responses).await {
                Ok(ended) => ended.map(|()| Ended::Done),
                Err(_) => Err(Stop::Gone),
            },
            ended => ended,
        }
    };
    tokio::select! {
        ended = work => ended,
        () = meter.idle(IDLE) => Ok(Ended::Done),
    }
}

async fn requests<R, W>(
    first: Option<Box<Head>>,
    inbox: &mut Inbox,
    from: &mut R,
    to: &mut W,
    talk: &mut Talk<'_>,
) -> Result<Ended, Stop>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut next = first;
    let mut before = 0;
    // Answers are not read here. That one has begun tells apart a client that
    // waits for them, and can be told something, from one that sends ahead.
    let mut waits = true;
    let received = |talk: &Talk<'_>| talk.meter.passed().1;
    loop {
        if let Some(head) = next.take() {
            before = received(talk);
            let last = head.is_last();
            let sent = send(head, inbox, from, to, talk).await;
            sent.map_err(|stop| stop.answered(waits && received(talk) == before))?;
            if last {
                return ignore(inbox, from).await;
            }
        }
        let head = inbox.head(from).await;
        waits = received(talk) > before;
        let Some(mut head) = head.map_err(|stop| stop.answered(waits))? else {
            return Ok(Ended::Done);
        };
        if talk.speaks == Speaks::Proxy && is_other(&head, talk.to) {
            if !waits {
                let why = "a request for another host came before the answer to the last one";
                return Err(Refusal::protocol(why).into());
            }
            return Ok(Ended::Other(Box::new(head)));
        }
        // Only the first request of a connection can turn it into something else.
        if head.after == After::Upgrade {
            head.after = After::Default;
        }
        let checked = check(&mut head, talk.to, talk.speaks, talk.heads);
        checked.map_err(|refusal| Stop::from(refusal).answered(waits))?;
        next = Some(Box::new(head));
    }
}

/// Reads and drops what comes after the last request, until the client is done:
/// a server that is told so too early may stop.
async fn ignore<R>(inbox: &mut Inbox, from: &mut R) -> Result<Ended, Stop>
where
    R: AsyncRead + Unpin,
{
    loop {
        inbox.consume(inbox.bytes().len());
        if !inbox.fill(from).await? {
            return Ok(Ended::Done);
        }
    }
}

/// Returns whether a request to a proxy is for another host than the last one, or
/// is none that a connection to a host can be used for.
fn is_other(head: &Head, to: &Destination) -> bool {
    let here = matches!(head.form, Form::Absolute { .. })
        && super::proxied_to(head).is_ok_and(|next| next == *to);
    !here
}

/// Holds a request to the destination of its connection, and gives it the form
/// in which it is sent on.
pub(crate) fn check(
    head: &mut Head,
    to: &Destination,
    speaks: Speaks,
    heads: &mut dyn Heads,
) -> Result<(), Refusal> {
    let elsewhere = |host: &Site| {
        let why = format!("the request is for '{host}', on a connection to '{to}'");
        Refusal::new(Reason::Mismatch, why)
    };
    let Some(host) = &head.host else {
        return Err(Refusal::new(Reason::NoName, "the request has no Host"));
    };
    if !host.is_for(to) {
        return Err(elsewhere(host));
    }
    match &head.form {
        Form::Authority(_) => return Err(Refusal::protocol("CONNECT is for proxies")),
        Form::Absolute { secure, .. } if *secure != (speaks == Speaks::Tls) => {
            return Err(Refusal::protocol("the request is for the other of http and https"));
        }
        Form::Absolute { site, .. } if !site.is_for(to) || site.host != host.host => {
            return Err(elsewhere(site));
        }
        Form::Origin | Form::Star if speaks == Speaks::Proxy => {
            return Err(Refusal::protocol("the request names no host to a proxy"));
        }
        Form::Absolute { .. } | Form::Origin | Form::Star => {}
    }
    head.form = if head.target == "*" { Form::Star } else { Form::Origin };
    // Some servers read no body where they expect none, and take it for the next request.
    if head.has_body() && !["POST", "PUT", "PATCH"].contains(&head.method.as_str()) {
        head.after = After::Close;
    }
    heads.check(head)
}

/// Sends a request: its head, and its body framed anew.
async fn send<R, W>(
    head: Box<Head>,
    inbox: &mut Inbox,
    from: &mut R,
    to: &mut W,
    talk: &mut Talk<'_>,
) -> Result<(), Stop>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let text = talk.next(&head)?;
    to.write_all(&text).await?;
    let chunked = head.framing == Framing::Chunked;
    let mut body = Body::new(head.framing);
    loop {
        match body.step(inbox.bytes())? {
            Part::End => break,
            Part::Frame(count) => inbox.consume(count),
            Part::Content(count) => {
                let content = &inbox.bytes()[..count];
                talk.heads.outgoing(content)?;
                talk.meter.take(Way::Out, count)?;
                if chunked {
                    let size = format!("{count:x}\r\n");
                    to.write_all(&[size.as_bytes(), content, b"\r\n"].concat()).await?;
                } else {
                    to.write_all(content).await?;
                }
                inbox.consume(count);
            }
            Part::More => {
                to.flush().await?;
                if !inbox.fill(from).await? {
                    return Err(Stop::Gone);
                }
            }
        }
    }
    if chunked {
        to.write_all(b"0\r\n\r\n").await?;
    }
    to.flush().await?;
    Ok(())
}
