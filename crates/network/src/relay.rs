//! Carries bytes between a client and a server.
//!
//! Between two sockets bytes move inside the kernel where they can. A direction
//! that has to be looked at, and one that ends in TLS here, is copied.

mod pool;

use std::io::ErrorKind;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) use pool::Pool;

use crate::account::{Meter, Way};
use crate::http::{Heads, Stop};
use pool::BUFFER;

/// How long a connection may be without a byte in either direction.
pub(crate) const IDLE: Duration = Duration::from_secs(600);

/// How many bytes one direction moves before others have their turn.
const TURN: usize = 4 << 20;

/// One direction of a connection.
pub(crate) struct Lane<'l> {
    pub(crate) way: Way,
    pub(crate) meter: &'l Meter,
    /// Looks at the bytes before they pass.
    pub(crate) look: Option<&'l mut dyn Heads>,
}

impl<'l> Lane<'l> {
    /// Returns the lane to the client.
    pub(crate) fn into(meter: &'l Meter) -> Lane<'l> {
        Lane { way: Way::In, meter, look: None }
    }

    /// Returns the lane from the client.
    pub(crate) fn out(meter: &'l Meter, look: Option<&'l mut dyn Heads>) -> Lane<'l> {
        Lane { way: Way::Out, meter, look }
    }

    /// Looks at bytes that are about to pass, and counts them.
    fn pass(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        if let Some(look) = &mut self.look {
            look.outgoing(bytes)?;
        }
        Ok(self.meter.take(self.way, bytes.len())?)
    }
}

/// Carries both directions of a connection until both have ended, one is cut, or
/// nothing moves any more.
pub(crate) async fn both<'l>(
    client: &TcpStream,
    server: &TcpStream,
    meter: &'l Meter,
    look: Option<&'l mut dyn Heads>,
    pool: &Pool,
) -> Result<(), Stop> {
    let out = pump(client, server, Lane::out(meter, look), pool);
    let into = pump(server, client, Lane::into(meter), pool);
    join(out, into, meter).await
}

/// Waits until both directions have ended, one is cut, or nothing moves any more.
///
/// Where one breaks off, the other goes on: what was sent before may be still on
/// its way. It ends soon, for one of its ends is gone too.
pub(crate) async fn join(
    out: impl Future<Output = Result<(), Stop>>,
    into: impl Future<Output = Result<(), Stop>>,
    meter: &Meter,
) -> Result<(), Stop> {
    tokio::select! {
        ended = async { tokio::try_join!(broken(out), broken(into)) } => match ended? {
            (false, false) => Ok(()),
            _ => Err(Stop::Gone),
        },
        () = meter.idle(IDLE) => Ok(()),
    }
}

/// Returns whether a direction broke off; that it was cut is an error.
async fn broken(direction: impl Future<Output = Result<(), Stop>>) -> Result<bool, Stop> {
    match direction.await {
        Ok(()) => Ok(false),
        Err(Stop::Gone) => Ok(true),
        Err(cut) => Err(cut),
    }
}

/// Carries one direction between sockets until it ends, and passes the end on.
pub(crate) async fn pump(
    from: &TcpStream,
    to: &TcpStream,
    mut lane: Lane<'_>,
    pool: &Pool,
) -> Result<(), Stop> {
    // Small things are copied: there is nothing to win, and pipes are few.
    let mut bulk = false;
    let mut turn = 0;
    loop {
        let pipe = if bulk && lane.look.is_none() { pool.pipe() } else { None };
        let moved = match pipe {
            Some(pipe) => pipe.carry(from, to, lane.way, lane.meter).await?,
            None => copy_once(from, to, &mut lane, pool).await?,
        };
        match moved {
            None => from.readable().await?,
            Some(0) => break,
            Some(moved) => {
                bulk = moved >= BUFFER;
                turn += moved;
            }
        }
        if turn >= TURN {
            turn = 0;
            tokio::task::yield_now().await;
        }
    }
    finish(to);
    Ok(())
}

/// Tells the other side that nothing more comes. Who is gone need not be told.
fn finish(to: &TcpStream) {
    let _ = rustix::net::shutdown(to, rustix::net::Shutdown::Write);
}

/// Copies what is there: how many bytes, none at the end, `None` to wait for more.
async fn copy_once(
    from: &TcpStream,
    to: &TcpStream,
    lane: &mut Lane<'_>,
    pool: &Pool,
) -> Result<Option<usize>, Stop> {
    // Who waits holds no buffer.
    let mut buffer = pool.buffer();
    let room = lane.meter.room(lane.way, buffer.len());
    let count = match from.try_read(&mut buffer[..room]) {
        Ok(count) => count,
        Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    send(to, &buffer[..count], lane).await?;
    Ok(Some(count))
}

/// Sends bytes on, as part of a direction.
pub(crate) async fn send(to: &TcpStream, bytes: &[u8], lane: &mut Lane<'_>) -> Result<(), Stop> {
    let mut rest = bytes;
    if !rest.is_empty() {
        lane.pass(rest)?;
    }
    while !rest.is_empty() {
        match to.try_write(rest) {
            Ok(0) => return Err(Stop::Gone),
            Ok(written) => rest = &rest[written..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => to.writable().await?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Carries one direction between any two streams until it ends, and passes the
/// end on.
pub(crate) async fn copy<R, W>(from: &mut R, to: &mut W, mut lane: Lane<'_>) -> Result<(), Stop>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let room = lane.meter.room(lane.way, buffer.len());
        let count = match from.read(&mut buffer[..room]).await {
            Ok(count) => count,
            // Many end TLS without saying so.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => 0,
            Err(error) => return Err(error.into()),
        };
        if count == 0 {
            let _ = to.shutdown().await;
            return Ok(());
        }
        lane.pass(&buffer[..count])?;
        to.write_all(&buffer[..count]).await?;
        to.flush().await?;
    }
}

/// Closes a connection so that the other side sees that it was cut.
pub(crate) fn abort(stream: TcpStream) {
    let _ = stream.set_zero_linger();
}
