//! The proxy for programs that speak SOCKS.

use std::sync::Arc;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use zonekeep_policy::hosts::{Destination, Host};

use super::Shared;
use super::passage::Passage;
use super::proxy::PROXY;
use crate::codec::Step;
use crate::event::{Reason, Refusal, visible};
use crate::http::{self, Inbox, PATIENCE, Stop};
use crate::socks::{self, Reply};

/// Serves a client whose first byte is that of SOCKS.
pub(super) async fn serve(mut client: TcpStream, mut inbox: Inbox, shared: &Arc<Shared>) {
    let slow = |_| Refusal::protocol("the SOCKS request did not come within 10 s");
    let asked = timeout(PATIENCE, ask(&mut client, &mut inbox, shared)).await.map_err(slow);
    let to = match asked.map_err(Stop::from).and_then(|asked| asked) {
        Ok(to) => to,
        Err(Stop::Gone) => return,
        Err(Stop::Refused { refusal, .. }) => {
            shared.report(PROXY, &refusal);
            return http::close(&mut client).await;
        }
    };
    let (permit, line) = match shared.connect(&to).await {
        Ok(made) => made,
        Err(refusal) => {
            shared.report(&to.to_string(), &refusal);
            let reply = match refusal.reason {
                Reason::Unreachable => Reply::Unreachable,
                _ => Reply::NotAllowed,
            };
            let _ = client.write_all(&socks::reply(reply)).await;
            return http::close(&mut client).await;
        }
    };
    if client.write_all(&socks::reply(Reply::Good)).await.is_err() {
        return;
    }
    let mut passage = Passage::new(shared, client, inbox, to);
    let ended = passage.go(&permit, Some(line)).await;
    passage.end(ended).await;
}

/// Reads one message of the client.
async fn read<T>(
    client: &mut TcpStream,
    inbox: &mut Inbox,
    parse: fn(&[u8]) -> Step<T>,
) -> Result<T, Stop> {
    loop {
        match parse(inbox.bytes()) {
            Step::Done(message, used) => {
                inbox.consume(used);
                return Ok(message);
            }
            Step::Bad(why) => return Err(Refusal::protocol(why).into()),
            Step::More => {}
        }
        if !inbox.fill(client).await? {
            return Err(Stop::Gone);
        }
    }
}

/// Hears what the client wants to connect to.
async fn ask(
    client: &mut TcpStream,
    inbox: &mut Inbox,
    shared: &Shared,
) -> Result<Destination, Stop> {
    if inbox.bytes().first() == Some(&4) {
        client.write_all(&socks::REFUSED_4).await?;
        return Err(Refusal::protocol("SOCKS4 is not spoken here, SOCKS5 is").into());
    }
    let greeting = read(client, inbox, socks::greeting).await?;
    match &shared.token {
        None if greeting.open => client.write_all(&socks::METHOD_OPEN).await?,
        Some(token) if greeting.password => {
            client.write_all(&socks::METHOD_PASSWORD).await?;
            let login = read(client, inbox, socks::login).await?;
            if !token.is(&login.user, &login.password) {
                client.write_all(&socks::LOGIN_BAD).await?;
                return Err(Refusal::new(Reason::Token, "The proxy has another token.").into());
            }
            client.write_all(&socks::LOGIN_GOOD).await?;
        }
        _ => {
            client.write_all(&socks::METHOD_NONE).await?;
            let why = "no way to log in that the proxy knows was offered";
            return Err(Refusal::new(Reason::Token, why).into());
        }
    }
    let request = read(client, inbox, socks::request).await?;
    if !request.connect {
        client.write_all(&socks::reply(Reply::Command)).await?;
        return Err(Refusal::protocol("of SOCKS only CONNECT is served").into());
    }
    let bad = match Host::parse(&request.host) {
        Ok(_) if request.port == 0 => "has no port".to_owned(),
        Ok(host) => return Ok(shared.meant(Destination { host, port: request.port })),
        Err(fault) => fault.to_string(),
    };
    client.write_all(&socks::reply(Reply::NotAllowed)).await?;
    let why = format!("'{}' {bad}", visible(request.host.as_bytes()));
    Err(Refusal::new(Reason::Name, why).into())
}
