//! Pipes and buffers that connections take for as long as bytes are in them.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::net::TcpStream;

use crate::account::{Meter, Way};
use crate::http::Stop;

/// The bytes of a buffer.
pub(super) const BUFFER: usize = 64 * 1024;

/// How many buffers are kept for the next who needs one.
const KEPT: usize = 8;

/// The pipes and buffers of a gate.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    buffers: Mutex<Vec<Box<[u8]>>>,
    pipes: pipes::Pipes,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// Lends a buffer.
    pub(super) fn buffer(&self) -> Buffer<'_> {
        let kept = lock(&self.buffers).pop();
        Buffer { bytes: kept.unwrap_or_else(|| vec![0; BUFFER].into()), pool: self }
    }

    /// Lends a pipe, if there is one left.
    pub(super) fn pipe(&self) -> Option<pipes::Lent<'_>> {
        self.pipes.lend()
    }
}

/// A buffer on loan.
pub(super) struct Buffer<'p> {
    bytes: Box<[u8]>,
    pool: &'p Pool,
}

impl Deref for Buffer<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl DerefMut for Buffer<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        let mut kept = lock(&self.pool.buffers);
        if kept.len() < KEPT {
            kept.push(std::mem::take(&mut self.bytes));
        }
    }
}

#[cfg(target_os = "linux")]
mod pipes {
    use std::io::ErrorKind;
    use std::os::fd::OwnedFd;

    use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
    use tokio::io::Interest;

    use super::*;

    /// How many bytes a pipe holds.
    const SIZE: usize = 1 << 20;

    /// The most pipes of a gate: what users may hold in pipes altogether is
    /// limited, and others than this gate need some.
    const MOST: usize = 8;

    /// Pipes that are kept, and how many there are in all.
    #[derive(Debug, Default)]
    pub(crate) struct Pipes {
        state: Mutex<State>,
    }

    #[derive(Debug, Default)]
    struct State {
        kept: Vec<Pipe>,
        lent: usize,
        /// The system gave none that was worth having.
        without: bool,
    }

    #[derive(Debug)]
    struct Pipe {
        read: OwnedFd,
        write: OwnedFd,
    }

    impl Pipe {
        fn new() -> Option<Pipe> {
            let flags = PipeFlags::CLOEXEC | PipeFlags::NONBLOCK;
            let (read, write) = pipe_with(flags).ok()?;
            fcntl_setpipe_size(&write, SIZE).ok().map(|_| Pipe { read, write })
        }
    }

    impl Pipes {
        pub(super) fn lend(&self) -> Option<Lent<'_>> {
            let mut state = lock(&self.state);
            if state.without || state.lent >= MOST {
                return None;
            }
            let pipe = state.kept.pop().or_else(Pipe::new);
            match pipe {
                Some(_) => state.lent += 1,
                None => state.without = true,
            }
            pipe.map(|pipe| Lent { pipe: Some(pipe), empty: true, pipes: self })
        }
    }

    /// A pipe on loan.
    pub(crate) struct Lent<'p> {
        pipe: Option<Pipe>,
        empty: bool,
        pipes: &'p Pipes,
    }

    impl Drop for Lent<'_> {
        fn drop(&mut self) {
            let mut state = lock(&self.pipes.state);
            state.lent -= 1;
            // One with bytes inside is nobody else's.
            if self.empty {
                state.kept.extend(self.pipe.take());
            }
        }
    }

    impl Lent<'_> {
        /// Moves what is there: how many bytes, none at the end, `None` to wait
        /// for more.
        pub(crate) async fn carry(
            mut self,
            from: &TcpStream,
            to: &TcpStream,
            way: Way,
            meter: &Meter,
        ) -> Result<Option<usize>, Stop> {
            let Some(Pipe { read, write }) = &self.pipe else { return Ok(None) };
            let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
            let room = meter.room(way, SIZE);
            let come = || Ok(splice(from, None, write, None, room, flags)?);
            let count = match from.try_io(Interest::READABLE, come) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            self.empty = count == 0;
            let mut left = count;
            if count > 0 {
                meter.take(way, count)?;
            }
            while left > 0 {
                let go = || Ok(splice(read, None, to, None, left, flags)?);
                match to.try_io(Interest::WRITABLE, go) {
                    Ok(0) => return Err(Stop::Gone),
                    Ok(gone) => left -= gone,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => to.writable().await?,
                    Err(error) => return Err(error.into()),
                }
            }
            self.empty = true;
            Ok(Some(count))
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod pipes {
    use super::*;

    /// No bytes are moved inside the kernel here.
    #[derive(Debug, Default)]
    pub(crate) struct Pipes;

    impl Pipes {
        pub(super) fn lend(&self) -> Option<Lent<'_>> {
            None
        }
    }

    /// There are none.
    pub(crate) struct Lent<'p>(std::convert::Infallible, std::marker::PhantomData<&'p ()>);

    impl Lent<'_> {
        pub(crate) async fn carry(
            self,
            _from: &TcpStream,
            _to: &TcpStream,
            _way: Way,
            _meter: &Meter,
        ) -> Result<Option<usize>, Stop> {
            match self.0 {}
        }
    }
}
