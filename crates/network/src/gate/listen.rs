//! Accepts connections.

use std::io::{self, ErrorKind};
use std::net::{TcpListener, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;

use super::{Shared, passage, proxy, resolver};

/// Where connections come in.
pub(crate) type Listener = Arc<tokio::net::TcpListener>;

/// A socket of a gate, by what is served on it.
#[derive(Debug)]
pub(crate) enum Socket {
    /// Questions for names, in datagrams.
    Datagrams(UdpSocket),
    /// Questions for names, in connections.
    Resolver(TcpListener),
    /// The proxy.
    Proxy(TcpListener),
    /// Connections to the hosts that live there.
    Hosts(TcpListener),
}

/// Serves a socket, inside the gate's runtime. Returns where connections come in
/// that lead out.
pub(crate) fn serve(socket: Socket, shared: &Arc<Shared>) -> io::Result<Option<Listener>> {
    let shared = Arc::clone(shared);
    match socket {
        Socket::Datagrams(socket) => {
            socket.set_nonblocking(true)?;
            tokio::spawn(resolver::serve_udp(tokio::net::UdpSocket::from_std(socket)?, shared));
        }
        Socket::Resolver(listener) => {
            tokio::spawn(resolver::serve_tcp(ready(listener)?, shared));
        }
        Socket::Proxy(listener) => {
            let listener = Arc::new(ready(listener)?);
            tokio::spawn(accept(Arc::clone(&listener), shared, proxy::serve));
            return Ok(Some(listener));
        }
        Socket::Hosts(listener) => {
            let listener = Arc::new(ready(listener)?);
            tokio::spawn(accept(Arc::clone(&listener), shared, passage::serve));
            return Ok(Some(listener));
        }
    }
    Ok(None)
}

fn ready(listener: TcpListener) -> io::Result<tokio::net::TcpListener> {
    listener.set_nonblocking(true)?;
    tokio::net::TcpListener::from_std(listener)
}

/// Accepts connections for ever. Where too many are open, the next wait outside.
async fn accept<F>(listener: Listener, shared: Arc<Shared>, serve: fn(TcpStream, Arc<Shared>) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    loop {
        let (stream, cut) = match shared.open.accept(&listener).await {
            Ok(Some(accepted)) => accepted,
            Ok(None) => continue,
            Err(error) => {
                pause(&error).await;
                continue;
            }
        };
        let mut cut = Box::pin(cut);
        // More than may be open at a time wait here, and can be cut here too.
        let places = tokio::select! {
            biased;
            () = &mut cut => continue,
            places = places(&shared) => places,
        };
        let Some(places) = places else { return };
        let _ = stream.set_nodelay(true);
        let entered = shared.open.enter();
        let work = serve(stream, Arc::clone(&shared));
        tokio::spawn(async move {
            tokio::select! { () = work => {}, () = cut => {} }
            drop((places, entered));
        });
    }
}

/// Waits for a place among the connections of the gate and among all of the session.
async fn places(shared: &Shared) -> Option<[OwnedSemaphorePermit; 2]> {
    let own = Arc::clone(&shared.slots).acquire_owned().await.ok()?;
    let all = Arc::clone(&shared.account.slots().free).acquire_owned().await.ok()?;
    Some([own, all])
}

/// Waits after an error, unless it was about one connection alone: where files
/// have run out, trying again at once would only keep the gate busy.
pub(crate) async fn pause(error: &io::Error) {
    if !is_of_one(error) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Returns whether an error is about one connection alone.
pub(crate) fn is_of_one(error: &io::Error) -> bool {
    let one = [ErrorKind::ConnectionAborted, ErrorKind::ConnectionReset, ErrorKind::Interrupted];
    one.contains(&error.kind())
}
