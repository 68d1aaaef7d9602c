//! Answers of the gate's own, to programs that it does not let through.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::event::{Reason, Refusal};

/// How long a client may take to read its answer, and how much it may still send.
const PATIENCE: Duration = Duration::from_secs(2);
const IGNORED: usize = 4 << 20;

/// Tells a client why it was refused, and closes the connection.
pub(crate) async fn refuse<S>(stream: &mut S, refusal: &Refusal)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    if stream.write_all(text(refusal).as_bytes()).await.is_ok() {
        close(stream).await;
    }
}

/// Closes a connection so that what was sent arrives: what the client still
/// sends is read and dropped, or the system would cut the connection.
pub(crate) async fn close<S>(stream: &mut S)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let drain = async {
        stream.shutdown().await.ok()?;
        let mut dropped = vec![0; 16 * 1024];
        let mut total = 0;
        while total < IGNORED {
            match stream.read(&mut dropped).await.ok()? {
                0 => break,
                count => total += count,
            }
        }
        Some(())
    };
    let _ = tokio::time::timeout(PATIENCE, drain).await;
}

/// Returns the answer to a request that was refused.
fn text(refusal: &Refusal) -> String {
    let (status, more) = match refusal.reason {
        Reason::Unreachable => ("502 Bad Gateway", ""),
        Reason::Protocol | Reason::Name => ("400 Bad Request", ""),
        Reason::Token => (
            "407 Proxy Authentication Required",
            "Proxy-Authenticate: Basic realm=\"zonekeep\"\r\n",
        ),
        _ => ("403 Forbidden", ""),
    };
    let body = format!("{}\n", refusal.detail.trim_end());
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Length: {}\r\nCache-Control: no-store\r\nConnection: close\r\n{more}\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_an_answer_with_the_reason() {
        let refusal = Refusal::new(Reason::NotAllowed, "Cannot connect to 'a.org:80'.");
        assert_eq!(
            text(&refusal),
            "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Content-Length: 30\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n\
             Cannot connect to 'a.org:80'.\n"
        );
        let status = |reason| text(&Refusal::new(reason, "x"))[9..12].to_owned();
        assert_eq!(status(Reason::Unreachable), "502");
        assert_eq!(status(Reason::Token), "407");
        assert_eq!(status(Reason::Protocol), "400");
        assert_eq!(status(Reason::Mismatch), "403");
    }
}
