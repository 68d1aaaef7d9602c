//! A stream of which the beginning was read already.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Reads what was read before once more, then goes on.
#[derive(Debug)]
pub(crate) struct Rewound<S> {
    early: Vec<u8>,
    used: usize,
    stream: S,
}

impl<S> Rewound<S> {
    pub(crate) fn new(early: Vec<u8>, stream: S) -> Rewound<S> {
        Rewound { early, used: 0, stream }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Rewound<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let early = &this.early[this.used..];
        if early.is_empty() {
            return Pin::new(&mut this.stream).poll_read(context, buffer);
        }
        let count = early.len().min(buffer.remaining());
        buffer.put_slice(&early[..count]);
        this.used += count;
        if this.used == this.early.len() {
            (this.early, this.used) = (Vec::new(), 0);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Rewound<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn what_was_read_comes_first() {
        let mut stream = Rewound::new(b"abc".to_vec(), &b"defg"[..]);
        let mut two = [0; 2];
        stream.read_exact(&mut two).await.unwrap();
        assert_eq!(&two, b"ab");
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"cdefg");
    }
}
