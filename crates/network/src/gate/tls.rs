//! TLS on its way through: held to the name that was judged.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use zonekeep_policy::hosts::{Destination, Host};

use crate::account::{Meter, Way};
use crate::codec::Step;
use crate::event::{Reason, Refusal, visible};
use crate::hello::{self, Hello};
use crate::http::{Inbox, PATIENCE, Stop, is_local};
use crate::relay::{IDLE, Pool};

/// The alert that tells a client that it was refused: fatal, access denied.
pub(crate) const ALERT: [u8; 7] = [21, 3, 1, 0, 2, 2, 49];

/// Reads a client's hello and holds it to the destination; returns how many
/// bytes it takes.
pub(crate) async fn read_hello(
    inbox: &mut Inbox,
    client: &mut TcpStream,
    to: &Destination,
) -> Result<usize, Stop> {
    read(inbox, client, to, hello::parse).await
}

async fn read(
    inbox: &mut Inbox,
    client: &mut TcpStream,
    to: &Destination,
    parse: fn(&[u8]) -> Step<Hello>,
) -> Result<usize, Stop> {
    let whole = async {
        loop {
            match parse(inbox.bytes()) {
                Step::Done(hello, used) => {
                    check(&hello, to)?;
                    return Ok(used);
                }
                Step::Bad(why) => return Err(Refusal::protocol(why).into()),
                Step::More => {}
            }
            if !inbox.fill(client).await? {
                return Err(Stop::Gone);
            }
        }
    };
    let slow = |_| Refusal::protocol("the TLS hello did not come within 10 s");
    timeout(PATIENCE, whole).await.map_err(slow)?
}

/// Holds a hello to the name that the connection was judged for.
///
/// Listed addresses have no name to be held to. The host's own services need not be
/// named, but a name has to be the host's own: behind them may be what leads to others.
pub(super) fn check(hello: &Hello, to: &Destination) -> Result<(), Refusal> {
    let Host::Name(name) = &to.host else { return Ok(()) };
    if hello.encrypted {
        let why = "the TLS hello hides the name that it is for (encrypted hello)";
        return Err(Refusal::new(Reason::NoName, why));
    }
    let local = to.host.is_localhost();
    let Some(said) = &hello.name else {
        if local {
            return Ok(());
        }
        let why = "the TLS hello does not say which name it is for (SNI)";
        return Err(Refusal::new(Reason::NoName, why));
    };
    match Host::parse(said) {
        Ok(Host::Name(said)) if said == *name => Ok(()),
        Ok(said) if local && is_local(&said) => Ok(()),
        _ => {
            let said = visible(said.as_bytes());
            let why = format!("the TLS hello is for '{said}', on a connection to '{to}'");
            Err(Refusal::new(Reason::Mismatch, why))
        }
    }
}

/// Sends a checked hello on, and carries both directions from then on.
pub(crate) async fn relay(
    (inbox, used): (&mut Inbox, usize),
    (client, server): (&mut TcpStream, &mut TcpStream),
    to: &Destination,
    meter: &Meter,
    pool: &Pool,
) -> Result<(), Stop> {
    meter.take(Way::Out, used)?;
    server.write_all(&inbox.bytes()[..used]).await?;
    inbox.consume(used);
    // A server may ask for another hello, and follow the name in that one.
    if hear(client, server, meter).await? {
        read(inbox, client, to, hello::again).await?;
    }
    let rest = inbox.bytes();
    if !rest.is_empty() {
        meter.take(Way::Out, rest.len())?;
        server.write_all(rest).await?;
        inbox.consume(rest.len());
    }
    crate::relay::both(client, server, meter, None, pool).await
}

/// Hands on a server's first bytes; returns whether they ask for another hello.
async fn hear(client: &mut TcpStream, server: &mut TcpStream, meter: &Meter) -> Result<bool, Stop> {
    let mut heard = Vec::with_capacity(4096);
    let again = async {
        loop {
            match hello::retried(&heard) {
                Step::Done(again, _) => return Ok(again),
                // Never so; and nothing that a client could follow.
                Step::Bad(why) => return Err(Stop::from(Refusal::protocol(why))),
                Step::More => {}
            }
            if heard.len() > hello::LIMIT {
                return Err(Refusal::protocol("the server's first bytes are no TLS").into());
            }
            heard.reserve(4096);
            if server.read_buf(&mut heard).await? == 0 {
                return Ok(false);
            }
        }
    };
    let slow = |_| Refusal::new(Reason::Unreachable, "the server does not answer");
    let again = timeout(IDLE, again).await.map_err(slow)??;
    meter.take(Way::In, heard.len())?;
    client.write_all(&heard).await?;
    Ok(again)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_is_held_to_the_host_also_on_this_machine() {
        use Reason::{Mismatch, NoName};
        let cases = [
            ("a.test", Some("a.test"), None),
            ("a.test", Some("A.test"), None),
            ("a.test", Some("b.test"), Some(Mismatch)),
            ("a.test", None, Some(NoName)),
            ("localhost:8443", None, None),
            ("localhost:8443", Some("localhost"), None),
            ("localhost:8443", Some("app.localhost"), None),
            ("localhost:8443", Some("host.zonekeep"), None),
            ("localhost:8443", Some("127.0.0.1"), None),
            ("localhost:8443", Some("denied.test"), Some(Mismatch)),
            ("localhost:8443", Some("localhost.denied.test"), Some(Mismatch)),
            ("localhost:8443", Some("10.0.0.1"), Some(Mismatch)),
            ("10.0.0.1:8443", Some("b.test"), None),
        ];
        for (to, name, want) in cases {
            let to = Destination::parse(to).unwrap();
            let mut hello =
                Hello { name: name.map(str::to_owned), encrypted: false, protocols: vec![] };
            let reason = |hello: &Hello| check(hello, &to).err().map(|refusal| refusal.reason);
            assert_eq!(reason(&hello), want, "{to} {name:?}");
            hello.encrypted = true;
            let hidden = matches!(to.host, Host::Name(_)).then_some(NoName);
            assert_eq!(reason(&hello), hidden, "{to} {name:?}");
        }
    }
}
