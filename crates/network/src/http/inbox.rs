//! What has come from a client and was not yet looked at.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Stop;
use super::head::{self, Head};
use crate::account::Account;
use crate::event::{Reason, Refusal};

/// How long a client may take to say what it wants, once it has begun.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// How many bytes are read at a time at first, and at most.
const FIRST: usize = 4 * 1024;
const MOST: usize = 128 * 1024;

/// Bytes of a client, in order: read, and not yet used.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    used: usize,
    /// Who lends the memory beyond the first, and how much that is.
    account: Option<Arc<Account>>,
    lent: usize,
    /// The last read could have been longer.
    full: bool,
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl Inbox {
    /// Returns one that holds no more than a session may.
    pub(crate) fn of(account: &Arc<Account>) -> Inbox {
        let mut inbox = Inbox::default();
        inbox.account = Some(Arc::clone(account));
        inbox
    }

    fn give_back(&mut self) {
        if let Some(account) = &self.account {
            account.release(std::mem::take(&mut self.lent));
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.used..]
    }

    /// Takes bytes away from the front.
    pub(crate) fn consume(&mut self, count: usize) {
        self.used += count;
        if self.used >= self.bytes.len() {
            self.bytes.clear();
            self.used = 0;
        }
    }

    /// Puts back bytes that were taken, into an empty one.
    pub(crate) fn put(&mut self, bytes: Vec<u8>) {
        self.bytes = bytes;
        self.used = 0;
    }

    /// Returns all that is there, and is empty afterwards.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.bytes.drain(..self.used);
        self.used = 0;
        self.give_back();
        std::mem::take(&mut self.bytes)
    }

    /// Reads more, as much as comes at once; returns whether anything came.
    pub(crate) async fn fill(&mut self, from: &mut (impl AsyncRead + Unpin)) -> Result<bool, Stop> {
        self.make_room()?;
        let read = from.read_buf(&mut self.bytes).await;
        self.full = self.bytes.len() == self.bytes.capacity();
        Ok(read? > 0)
    }

    /// Reads more from a socket that others use too.
    pub(crate) async fn fill_from(&mut self, from: &TcpStream) -> Result<bool, Stop> {
        self.make_room()?;
        loop {
            from.readable().await?;
            match from.try_read_buf(&mut self.bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => {
                    self.full = self.bytes.len() == self.bytes.capacity();
                    return Ok(read? > 0);
                }
            }
        }
    }

    /// Makes room to read into. Whoever sends much gets more; who waits holds
    /// little.
    fn make_room(&mut self) -> Result<(), Refusal> {
        self.bytes.drain(..self.used);
        self.used = 0;
        let free = self.bytes.capacity() - self.bytes.len();
        if self.bytes.capacity() == 0 {
            self.bytes.reserve_exact(FIRST);
        } else if (self.full || free < FIRST / 2) && self.bytes.capacity() < MOST {
            let more = self.bytes.capacity();
            if self.account.as_ref().is_none_or(|account| account.hold(more)) {
                self.lent += more;
                self.bytes.reserve_exact(free + more);
                self.full = false;
            } else if free == 0 {
                let why = "too much has been begun and not ended, on all connections together";
                return Err(Refusal::new(Reason::Limit, why));
            }
        } else if free == 0 {
            return Err(Refusal::protocol("what was begun does not end"));
        }
        Ok(())
    }

    /// Reads the head of the next request; `None` where the client is done.
    ///
    /// One blank line may stand before it: some clients end a body with one.
    pub(crate) async fn head(
        &mut self,
        from: &mut (impl AsyncRead + Unpin),
    ) -> Result<Option<Head>, Stop> {
        if self.bytes().is_empty() {
            // What the last one needed is not held while waiting.
            self.take();
            if !self.fill(from).await? {
                return Ok(None);
            }
        }
        let slow = |_| Refusal::protocol("the head of the request did not come within 10 s");
        timeout(PATIENCE, self.rest_of_head(from)).await.map_err(slow)?
    }

    async fn rest_of_head(
        &mut self,
        from: &mut (impl AsyncRead + Unpin),
    ) -> Result<Option<Head>, Stop> {
        let mut seen = 0;
        let mut blank = false;
        loop {
            if !blank && self.bytes().starts_with(b"\r\n") {
                self.consume(2);
                (blank, seen) = (true, 0);
            }
            if !matches!(self.bytes(), b"" | b"\r")
                && let Some(end) = head::end(self.bytes(), seen)?
            {
                let head = Head::parse(&self.bytes()[..end])?;
                self.consume(end);
                return Ok(Some(head));
            }
            seen = self.bytes().len();
            if !self.fill(from).await? {
                return match self.bytes() {
                    [] => Ok(None),
                    _ => Err(Refusal::protocol("the head of the request does not end").into()),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn heads_come_one_after_the_other_however_they_are_cut() {
        let text =
            b"GET /1 HTTP/1.1\r\nHost: a.org\r\n\r\n\r\nGET /2 HTTP/1.1\r\nHost: a.org\r\n\r\n";
        for cut in 1..text.len() {
            let mut from = tokio::io::AsyncReadExt::chain(&text[..cut], &text[cut..]);
            let mut inbox = Inbox::default();
            for target in ["/1", "/2"] {
                let head = inbox.head(&mut from).await.ok().flatten().unwrap();
                assert_eq!(head.target, target, "{cut}");
            }
            assert!(matches!(inbox.head(&mut from).await, Ok(None)));
        }
        for bad in ["\r\n\r\nGET / HTTP/1.1\r\nHost: a.org\r\n\r\n", "GET / HTTP/1.1\r\nHost: a"] {
            let head = Inbox::default().head(&mut bad.as_bytes()).await;
            assert!(matches!(head, Err(Stop::Refused { .. })), "{bad:?}");
        }
    }

    #[tokio::test]
    async fn what_is_begun_and_not_ended_is_held_only_so_long_as_there_is_memory() {
        let account = Arc::new(Account::default());
        let long = vec![b'x'; 60_000];
        let mut waiting = Vec::new();
        let refusal = loop {
            let mut inbox = Inbox::of(&account);
            let mut from = &long[..];
            let filled = loop {
                match inbox.fill(&mut from).await {
                    Ok(true) => {}
                    ended => break ended,
                }
            };
            waiting.push(inbox);
            assert!(waiting.len() < 1000, "all of it is held");
            match filled {
                Err(Stop::Refused { refusal, .. }) => break refusal,
                _ => continue,
            }
        };
        assert_eq!(refusal.reason, Reason::Limit);
        assert!(waiting.len() > 100, "{}", waiting.len());
        drop(waiting);
        assert!(account.hold(16 << 20), "all was given back");
    }
}
