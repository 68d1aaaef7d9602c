//! Keeps the values of secrets out of what is sent back.
//!
//! A server may repeat what it was sent: then the command that was not given the
//! value would read it in the answer. So where a value may have been sent, every
//! byte that comes back is searched for it, and it is written over by its
//! placeholder. Lengths stay as they are, because answers are not taken apart.
//!
//! Found are the value as it is, as it stands in JSON and in addresses, and as
//! base64. Not found is what the server compresses although it is asked not to,
//! what it cuts into chunks within the value, encodes in another way, or sends
//! a part of. Values of fewer than eight bytes are not looked for at all.
//!
//! The last bytes are kept back until others follow, because a value may have
//! begun in them. How many, and how long, never depends on what they are: else
//! a server that repeats a guess would show by a pause whether it is right.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::secret::{Needles, Secret};

/// After so long without another byte, what is kept back is given out.
const PAUSE: Duration = Duration::from_millis(50);

/// Writes over values in what flows by.
#[derive(Debug)]
pub(crate) struct Mask {
    values: Needles,
    /// What is written over each of them.
    covers: Vec<Vec<u8>>,
    /// The end of what has flowed by, one byte less than the longest value: as it
    /// came, and as it is passed on.
    tail: Vec<u8>,
    shown: Vec<u8>,
    /// How many bytes of the tail have been passed on.
    passed: usize,
}

impl Mask {
    pub(crate) fn new<'s>(secrets: impl Iterator<Item = &'s Secret>) -> Mask {
        let (mut values, mut covers) = (Vec::new(), Vec::new());
        for secret in secrets {
            for form in secret.value_forms() {
                let cover = secret.placeholder().bytes().chain(std::iter::repeat(b'-'));
                covers.push(cover.take(form.0.len()).collect());
                values.push(form);
            }
        }
        let values = Needles::new(values);
        Mask { values, covers, tail: Vec::new(), shown: Vec::new(), passed: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Takes the next bytes, and gives out all but the last.
    fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.tail.extend_from_slice(bytes);
        self.shown.extend_from_slice(bytes);
        let mut from = 0;
        while let Some((at, which)) = self.values.find(&self.tail, from) {
            let cover = &self.covers[which];
            self.shown[at..at + cover.len()].copy_from_slice(cover);
            from = at + 1;
        }
        let kept = self.tail.len().min(self.values.longest().saturating_sub(1));
        let gone = self.tail.len() - kept;
        let until = gone.max(self.passed);
        out.extend_from_slice(&self.shown[self.passed..until]);
        self.tail.drain(..gone);
        self.shown.drain(..gone);
        self.passed = until - gone;
    }

    /// Returns whether anything is kept back.
    fn keeps(&self) -> bool {
        self.passed < self.shown.len()
    }

    /// Gives out what is kept back. A value that goes on after it is still known
    /// for one, and the rest of it covered.
    fn release(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.shown[self.passed..]);
        self.passed = self.shown.len();
    }
}

/// How many bytes are read at a time.
const BUFFER: usize = 16 * 1024;

/// A stream whose incoming bytes are masked.
#[derive(Debug)]
pub(crate) struct Masked<S> {
    stream: S,
    mask: Option<Mask>,
    /// What can be given out, and how much of it was.
    ready: Vec<u8>,
    used: usize,
    buffer: Vec<u8>,
    /// Runs while nothing comes and something is kept back.
    pause: Option<Pin<Box<Sleep>>>,
    end: Option<End>,
}

/// How a stream ended.
#[derive(Debug, Clone, Copy)]
enum End {
    /// As it should.
    Clean,
    /// Without being closed.
    Cut,
}

impl<S> Masked<S> {
    /// Masks what comes from a stream; without a mask it passes as it is.
    pub(crate) fn new(stream: S, mask: impl Into<Option<Mask>>) -> Masked<S> {
        let mask = mask.into();
        let (ready, buffer) = (Vec::new(), Vec::new());
        Masked { stream, mask, ready, used: 0, buffer, pause: None, end: None }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Masked<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let Some(mask) = &mut this.mask else {
            return Pin::new(&mut this.stream).poll_read(context, out);
        };
        while this.used == this.ready.len() {
            match this.end {
                Some(End::Clean) => return Poll::Ready(Ok(())),
                Some(End::Cut) => return Poll::Ready(Err(ErrorKind::UnexpectedEof.into())),
                None => {}
            }
            this.buffer.resize(BUFFER, 0);
            let mut read = ReadBuf::new(&mut this.buffer);
            let came = Pin::new(&mut this.stream).poll_read(context, &mut read);
            this.ready.clear();
            this.used = 0;
            let came = match came {
                Poll::Ready(came) => came,
                Poll::Pending if mask.keeps() => {
                    let pause = this.pause.get_or_insert_with(|| Box::pin(sleep(PAUSE)));
                    ready!(pause.as_mut().poll(context));
                    this.pause = None;
                    mask.release(&mut this.ready);
                    continue;
                }
                Poll::Pending => return Poll::Pending,
            };
            this.pause = None;
            match came {
                Ok(()) if read.filled().is_empty() => this.end = Some(End::Clean),
                Ok(()) => mask.push(read.filled(), &mut this.ready),
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    this.end = Some(End::Cut);
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
            if this.end.is_some() {
                mask.release(&mut this.ready);
            }
        }
        let rest = &this.ready[this.used..];
        let count = rest.len().min(out.remaining());
        out.put_slice(&rest[..count]);
        this.used += count;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Masked<S> {
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
#[path = "mask_tests.rs"]
mod tests;
