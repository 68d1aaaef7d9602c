//! A connection that turns into a web socket.
//!
//! From then on it is not read any more, so the server's word is needed: only
//! after its 101 to the very first request do bytes pass as they are.

use httparse::{EMPTY_HEADER, Status};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::Stop;
use super::answers::Answers;
use super::head::{After, Head, LIMIT};
use super::inbox::Inbox;
use super::requests::Talk;
use crate::account::{Meter, Way};
use crate::event::Refusal;
use crate::relay::IDLE;

/// What became of the first request of a connection.
#[derive(Debug)]
pub(super) enum Settled {
    /// The server agreed: bytes pass as they are.
    Raw,
    /// It is a request like others, with the head that is to be sent next;
    /// `None` where it was sent, and its answer has begun.
    Next(Option<Box<Head>>),
}

/// Sends the first request if it asks for a web socket, and hears the answer; by
/// `answers` where these are read.
pub(super) async fn settle<C, S>(
    first: Head,
    inbox: &mut Inbox,
    (client, server): (&mut C, &mut S),
    talk: &mut Talk<'_>,
    answers: Option<&mut Answers>,
) -> Result<Settled, Stop>
where
    C: AsyncWrite + Unpin,
    S: AsyncRead + AsyncWrite + Unpin,
{
    if first.after != After::Upgrade {
        return Ok(Settled::Next(Some(Box::new(first))));
    }
    let text = talk.next(&first)?;
    server.write_all(&text).await?;
    server.flush().await?;
    let slow = |_| Refusal::protocol("the server does not answer");
    let answer = async {
        match answers {
            Some(answers) => answers.agreed(server, client, talk.meter).await,
            None => answer(client, server, talk.meter).await,
        }
    };
    if !tokio::time::timeout(IDLE, answer).await.map_err(slow)?? {
        return Ok(Settled::Next(None));
    }
    let early = inbox.bytes();
    if !early.is_empty() {
        talk.heads.outgoing(early)?;
        talk.meter.take(Way::Out, early.len())?;
        server.write_all(early).await?;
        server.flush().await?;
    }
    inbox.take();
    Ok(Settled::Raw)
}

/// Hands on the server's answer; returns whether it agreed.
async fn answer<C, S>(client: &mut C, server: &mut S, meter: &Meter) -> Result<bool, Stop>
where
    C: AsyncWrite + Unpin,
    S: AsyncRead + Unpin,
{
    let mut bytes = Vec::with_capacity(4096);
    let agreed = loop {
        if server.read_buf(&mut bytes).await? == 0 {
            break false;
        }
        match verdict(&bytes)? {
            Some(agreed) => break agreed,
            None if bytes.len() > LIMIT => break false,
            None => {}
        }
    };
    meter.take(Way::In, bytes.len())?;
    client.write_all(&bytes).await?;
    client.flush().await?;
    Ok(agreed)
}

/// Reads an answer: whether the server agreed, or `None` for more of it.
fn verdict(bytes: &[u8]) -> Result<Option<bool>, Refusal> {
    let mut rest = bytes;
    loop {
        let mut headers = [EMPTY_HEADER; 100];
        let mut response = httparse::Response::new(&mut headers);
        let used = match response.parse(rest) {
            Ok(Status::Complete(used)) => used,
            Ok(Status::Partial) => return Ok(None),
            // Whatever it is, it is no agreement.
            Err(_) => return Ok(Some(false)),
        };
        match response.code {
            Some(101) if is_web_socket(response.headers) => return Ok(Some(true)),
            Some(101) => {
                return Err(Refusal::protocol("the server turns to what was not asked for"));
            }
            // One that says that another follows.
            Some(100..=199) => rest = &rest[used..],
            _ => return Ok(Some(false)),
        }
    }
}

/// Returns whether the headers of a 101 are those of a web socket.
pub(super) fn is_web_socket(headers: &[httparse::Header<'_>]) -> bool {
    let has = |name: &str, value: Option<&[u8]>| {
        headers.iter().any(|header| {
            header.name.eq_ignore_ascii_case(name)
                && value.is_none_or(|value| header.value.eq_ignore_ascii_case(value))
        })
    };
    has("upgrade", Some(b"websocket")) && has("sec-websocket-accept", None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_101_for_a_web_socket_is_an_agreement() {
        let agreed = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\n\
                      Connection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n";
        let cases = [
            (agreed.to_owned(), Some(true)),
            (format!("{agreed}\x01\x02"), Some(true)),
            (format!("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n{agreed}"), Some(true)),
            (agreed[..agreed.len() - 1].to_owned(), None),
            (String::new(), None),
            ("HTTP/1.1 200 OK\r\nUpgrade: websocket\r\n\r\n".to_owned(), Some(false)),
            (format!("HTTP/1.1 400 No\r\n\r\n{agreed}"), Some(false)),
            ("SSH-2.0-x\r\n".to_owned(), Some(false)),
        ];
        for (answer, want) in cases {
            assert_eq!(verdict(answer.as_bytes()).unwrap(), want, "{answer:?}");
        }
        for other in ["Upgrade: h2c", "Upgrade: websocket", "Sec-WebSocket-Accept: x"] {
            let answer = format!("HTTP/1.1 101 Switching Protocols\r\n{other}\r\n\r\n");
            assert!(verdict(answer.as_bytes()).is_err(), "{other}");
        }
    }
}
