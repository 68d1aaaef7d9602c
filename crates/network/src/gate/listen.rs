//! Accepts connections.

use std::io::{self, ErrorKind};
use std::net::{TcpListener, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;

use super::{Shared, passage, proxy, resolver};

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

/// Serves a socket, inside the gate's runtime.
pub(crate) fn serve(socket: Socket, shared: &Arc<Shared>) -> io::Result<()> {
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
            tokio::spawn(accept(ready(listener)?, shared, proxy::serve));
        }
        Socket::Hosts(listener) => {
            tokio::spawn(accept(ready(listener)?, shared, passage::serve));
        }
    }
    Ok(())
}

fn ready(listener: TcpListener) -> io::Result<tokio::net::TcpListener> {
    listener.set_nonblocking(true)?;
    tokio::net::TcpListener::from_std(listener)
}

/// Accepts connections for ever. Where too many are open, the next wait outside.
async fn accept<F>(
    listener: tokio::net::TcpListener,
    shared: Arc<Shared>,
    serve: fn(TcpStream, Arc<Shared>) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // More than may be open at a time wait here.
                let Ok(slot) = Arc::clone(&shared.slots).acquire_owned().await else { return };
                let all = Arc::clone(&shared.account.slots().free);
                let Ok(one_of_all) = all.acquire_owned().await else { return };
                let _ = stream.set_nodelay(true);
                let entered = shared.open.enter();
                let cut = Arc::clone(&shared.open.cut).notified_owned();
                let work = serve(stream, Arc::clone(&shared));
                tokio::spawn(async move {
                    tokio::select! { () = work => {}, () = cut => {} }
                    drop((slot, one_of_all, entered));
                });
            }
            Err(error) => pause(&error).await,
        }
    }
}

/// Waits after an error, unless it was about one connection alone: where files
/// have run out, trying again at once would only keep the gate busy.
pub(crate) async fn pause(error: &io::Error) {
    let one = [ErrorKind::ConnectionAborted, ErrorKind::ConnectionReset, ErrorKind::Interrupted];
    if !one.contains(&error.kind()) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
