//! Ends TLS here, for connections whose requests get secrets.
//!
//! Towards the command this is the host, with a certificate of the session's
//! authority; towards the host it is a client that checks who the host is. What
//! is said in between is read, and only HTTP/1 is spoken.

use std::io;
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};
use zonekeep_policy::hosts::{Destination, Host};

use crate::authority::Authority;
use crate::event::{Reason, Refusal};
use crate::http::{self, Inbox, PATIENCE};

/// Starts TLS with both sides: as the host towards `client`, whose hello named
/// it, and as a client towards `server`, which has to prove that it is the host.
///
/// A client whose request cannot be passed on, because of the host, is told so.
pub(crate) async fn open<C, S>(
    client: C,
    server: S,
    to: &Destination,
    authority: &Authority,
) -> Result<(server::TlsStream<C>, client::TlsStream<S>), Refusal>
where
    C: AsyncRead + AsyncWrite + Unpin,
    S: AsyncRead + AsyncWrite + Unpin,
{
    let Host::Name(name) = &to.host else {
        return Err(Refusal::new(Reason::Name, "only a host with a name gets secrets"));
    };
    // Without a client no server is needed, but not the other way round.
    let server = async { Ok(connect(server, name, authority).await) };
    let (client, server) = tokio::try_join!(accept(client, name, authority), server)?;
    match server {
        Ok(server) => Ok((client, server)),
        Err(refusal) => {
            tell(client, &refusal, PATIENCE).await;
            Err(refusal)
        }
    }
}

/// Tells a client why its request is not passed on, as soon as it has made one.
async fn tell<C>(mut client: C, refusal: &Refusal, patience: Duration)
where
    C: AsyncRead + AsyncWrite + Unpin,
{
    if let Ok(Ok(Some(_))) = timeout(patience, Inbox::default().head(&mut client)).await {
        http::refuse(&mut client, refusal).await;
    }
}

async fn accept<C>(
    client: C,
    name: &str,
    authority: &Authority,
) -> Result<server::TlsStream<C>, Refusal>
where
    C: AsyncRead + AsyncWrite + Unpin,
{
    let config = authority.as_host(name).map_err(|error| {
        Refusal::new(Reason::Unreachable, format!("no certificate for '{name}': {error}"))
    })?;
    match timeout(PATIENCE, TlsAcceptor::from(config).accept(client)).await {
        Ok(Ok(client)) => Ok(client),
        Ok(Err(error)) => Err(Refusal::protocol(format!(
            "TLS to '{name}' is ended on the way, because it gets secrets, and the program \
             does not go along: {error}"
        ))),
        Err(_) => Err(Refusal::protocol("the start of TLS did not come within 10 s")),
    }
}

async fn connect<S>(
    server: S,
    name: &str,
    authority: &Authority,
) -> Result<client::TlsStream<S>, Refusal>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let failed = |why: &dyn std::fmt::Display| {
        Refusal::new(Reason::Unreachable, format!("Cannot start TLS with '{name}': {why}"))
    };
    let host = ServerName::try_from(name.to_owned()).map_err(|error| failed(&error))?;
    let config = authority.to_servers().map_err(|error| failed(&error))?;
    match timeout(PATIENCE, TlsConnector::from(config).connect(host, server)).await {
        Ok(Ok(server)) => Ok(server),
        Ok(Err(error)) => Err(failed(&reason(&error))),
        Err(_) => Err(failed(&"no answer within 10 s")),
    }
}

/// Says what is wrong with a server, in plain words where it is its certificate.
fn reason(error: &io::Error) -> String {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match tls {
        Some(rustls::Error::InvalidCertificate(why)) => {
            format!("its certificate is not trusted: {why}")
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
#[path = "terminate_tests.rs"]
mod tests;
