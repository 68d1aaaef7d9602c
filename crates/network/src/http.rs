//! HTTP/1 as the gate speaks it: requests are read strictly and written anew,
//! answers pass as they are, unless they may repeat the value of a secret.

mod answers;
mod body;
mod head;
mod inbox;
mod reply;
mod requests;
mod site;
mod upgrade;

pub(crate) use site::is_local;

use std::io;
use std::pin::pin;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

pub(crate) use body::{Body, Part};
pub(crate) use head::{After, Form, Framing, Head, Header, end};
pub(crate) use inbox::{Inbox, PATIENCE};
pub(crate) use reply::{close, refuse};
pub(crate) use requests::{Ended, Speaks, Talk, check, exchange};

use crate::event::{Reason, Refusal};
use crate::mask::Mask;
use crate::relay::{self, Lane, Pool};
use answers::{Answers, Asked};
use upgrade::Settled;
use zonekeep_policy::hosts::Destination;

/// Looks at what a client sends before it goes out.
pub(crate) trait Heads: Send {
    /// Checks the head of a request, and may change its headers.
    fn check(&mut self, head: &mut Head) -> Result<(), Refusal>;

    /// Checks bytes that follow: of a body, or of what is no HTTP.
    fn outgoing(&mut self, bytes: &[u8]) -> Result<(), Refusal>;
}

/// Why a connection ended before its time.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Something in it was refused; `answer` where the client waits for an
    /// answer, and can be told.
    Refused { refusal: Refusal, answer: bool },
    /// One of its ends is gone.
    Gone,
}

impl Stop {
    /// Says whether the client can be told.
    pub(crate) fn answered(self, answer: bool) -> Stop {
        match self {
            Stop::Refused { refusal, .. } => Stop::Refused { refusal, answer },
            Stop::Gone => Stop::Gone,
        }
    }
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Stop {
        Stop::Refused { refusal, answer: false }
    }
}

impl From<io::Error> for Stop {
    fn from(_: io::Error) -> Stop {
        Stop::Gone
    }
}

/// Returns what a request to a proxy is for.
pub(crate) fn proxied_to(head: &Head) -> Result<Destination, Refusal> {
    match &head.form {
        Form::Authority(site) => Ok(site.destination(443)),
        Form::Absolute { site, secure: false } => Ok(site.destination(80)),
        Form::Absolute { secure: true, .. } => {
            Err(Refusal::protocol("https goes through a proxy with CONNECT"))
        }
        Form::Origin | Form::Star => {
            Err(Refusal::new(Reason::NoName, "the request names no host to a proxy"))
        }
    }
}

/// Serves the requests of a plain connection, of which the first was checked.
pub(crate) async fn over_tcp(
    first: Head,
    inbox: &mut Inbox,
    (client, server): (&mut TcpStream, &mut TcpStream),
    talk: &mut Talk<'_>,
    pool: &Pool,
) -> Result<Ended, Stop> {
    let first = match upgrade::settle(first, inbox, (client, server), talk, None).await? {
        Settled::Raw => {
            let look: &mut dyn Heads = talk.heads;
            let ended = relay::both(client, server, talk.meter, Some(look), pool).await;
            return ended.map(|()| Ended::Done);
        }
        Settled::Next(first) => first,
    };
    let (mut from, back) = client.split();
    let (answers, mut to) = server.split();
    let lane = Lane::into(talk.meter);
    let responses = pin!(relay::pump(answers.as_ref(), back.as_ref(), lane, pool));
    exchange(first, inbox, (&mut from, &mut to), responses, talk).await
}

/// Serves the requests of a connection that is more than two sockets, or whose
/// answers are masked.
pub(crate) async fn over_streams<C, S>(
    first: Head,
    inbox: &mut Inbox,
    (client, server): (&mut C, &mut S),
    talk: &mut Talk<'_>,
    mask: Option<Mask>,
) -> Result<Ended, Stop>
where
    C: AsyncRead + AsyncWrite + Unpin,
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut answers = mask.map(|mask| {
        let asked = talk.asked.insert(Asked::default()).clone();
        Answers::new(asked, mask)
    });
    let ends = (&mut *client, &mut *server);
    let settled = upgrade::settle(first, inbox, ends, talk, answers.as_mut()).await?;
    let (mut from, mut back) = tokio::io::split(client);
    let (mut said, mut to) = tokio::io::split(server);
    let meter = talk.meter;
    let responses = async {
        match &mut answers {
            Some(answers) => answers.carry(&mut said, &mut back, meter).await,
            None => relay::copy(&mut said, &mut back, Lane::into(meter)).await,
        }
    };
    match settled {
        Settled::Next(first) => {
            exchange(first, inbox, (&mut from, &mut to), pin!(responses), talk).await
        }
        Settled::Raw => {
            let look: &mut dyn Heads = talk.heads;
            let lane = Lane::out(talk.meter, Some(look));
            let requests = relay::copy(&mut from, &mut to, lane);
            relay::join(requests, responses, talk.meter).await.map(|()| Ended::Done)
        }
    }
}
