//! Models that are asked over the network, through the `genai` library.
//!
//! The library knows how each provider wants requests and writes replies; it
//! works behind a [`gate`], which holds the key and the bounds. [`ask`]
//! puts a conversation in the library's words, and [`hear`] makes a reply of
//! what it reads. Every request has a small runtime of its own, in the thread
//! that waits for the reply.

mod address;
mod ask;
mod door;
mod gate;
mod hear;

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use genai::chat::{ChatOptions, ChatRequest};
use genai::resolver::{AuthData, Endpoint};
use genai::{ModelIden, ServiceTarget};
use tokio::net::unix::pipe::Receiver;
use zonekeep::Stop;

use super::open::Settings;
use super::{Delta, Model, ModelError, Reply, Request};
use address::Address;
use door::Door;
use gate::{Again, Failure, Gate};

pub(super) use address::Provider;

/// How often is looked whether somebody said stop, where that cannot be waited for.
const LOOK: Duration = Duration::from_millis(20);
/// The longest time between two tries, unless the provider says otherwise.
const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// A model that is asked over the network.
pub(super) struct Remote {
    /// The name that it was opened by.
    name: String,
    /// The provider's name for it.
    own_name: String,
    provider: Provider,
    gate: Gate,
    retries: u32,
    backoff: Duration,
}

impl Remote {
    pub(super) fn open(
        spec: &str,
        provider: Provider,
        name: &str,
        settings: &Settings,
    ) -> Result<Self, ModelError> {
        let address = Address::find(spec, provider, settings)?;
        Ok(Remote {
            name: spec.to_owned(),
            own_name: name.to_owned(),
            provider,
            gate: Gate::new(spec, provider, address, settings)?,
            retries: settings.retries,
            backoff: settings.backoff,
        })
    }
}

impl Model for Remote {
    fn name(&self) -> &str {
        &self.name
    }

    fn respond(
        &self,
        request: &Request<'_>,
        tell: &mut dyn FnMut(Delta<'_>),
        stop: &Stop,
    ) -> Result<Reply, ModelError> {
        if stop.is_said() {
            return Err(ModelError::Stopped);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| self.gate.unreachable(error.to_string()))?;
        let reply = runtime.block_on(async {
            tokio::select! {
                biased;
                () = said(stop) => Err(ModelError::Stopped),
                () = over(request.deadline) => {
                    Err(ModelError::TimedOut { name: self.name.clone() })
                }
                reply = self.ask(request, tell) => reply,
            }
        });
        // A name server may still be silent in a thread of the runtime.
        runtime.shutdown_background();
        reply
    }
}

impl Remote {
    /// Asks until there is a reply, or a failure that will not pass.
    async fn ask(
        &self,
        request: &Request<'_>,
        tell: &mut dyn FnMut(Delta<'_>),
    ) -> Result<Reply, ModelError> {
        let chat = ask::request(self.provider, &self.name, request)?;
        let options = ask::options(self.provider, request);
        let mut attempt = 0;
        loop {
            attempt += 1;
            let failure = match self.attempt(chat.clone(), &options, request, tell).await {
                Ok(reply) => return Ok(reply),
                Err(failure) => failure,
            };
            let Again::Yes(after) = failure.again else { return Err(failure.error) };
            let wait = after.unwrap_or_else(|| self.wait(attempt));
            let in_time = request.deadline.is_none_or(|deadline| Instant::now() + wait < deadline);
            if attempt > self.retries || !in_time {
                return Err(failure.error);
            }
            tell(Delta::Retrying { attempt, wait, why: &failure.error.to_string() });
            tokio::time::sleep(wait).await;
        }
    }

    /// Asks once.
    async fn attempt(
        &self,
        chat: ChatRequest,
        options: &ChatOptions,
        request: &Request<'_>,
        tell: &mut dyn FnMut(Delta<'_>),
    ) -> Result<Reply, Failure> {
        let failed = |why: String| Failure::is_final(self.gate.unreachable(why));
        let door = Door::open().map_err(|error| failed(error.to_string()))?;
        let web = gate::client().tls_backend_preconfigured(gate::no_tls());
        let web = web.unix_socket(door.address());
        let web = web.build().map_err(|error| failed(error.to_string()))?;
        let library = genai::Client::builder().with_reqwest(web).build();
        let library = library.map_err(|error| failed(error.to_string()))?;
        let target = ServiceTarget {
            endpoint: Endpoint::from_owned(self.gate.endpoint()),
            // The key is added at the gate.
            auth: AuthData::from_single("at-the-gate"),
            model: ModelIden::new(self.provider.kind(), self.own_name.clone()),
        };

        let carried = self.gate.carry(door);
        let heard = async {
            let stream = library.exec_chat_stream(target, chat, Some(options)).await;
            let stream = stream.map_err(|error| hear::failure(&self.gate, &error))?;
            hear::reply(&self.gate, self.provider, request, stream.stream, tell).await
        };
        tokio::pin!(carried, heard);
        let mut failed = None;
        let mut carrying = true;
        let heard = loop {
            tokio::select! {
                biased;
                end = &mut carried, if carrying => {
                    carrying = false;
                    failed = end.err();
                }
                heard = &mut heard => break heard,
            }
        };
        // A whole reply is one, whatever came after. Without one, the gate knows
        // better than the library what went wrong.
        heard.map_err(|failure| failed.unwrap_or(failure))
    }

    /// Returns how long to wait after a number of attempts: twice as long each
    /// time, and not the same for all who were sent away together.
    fn wait(&self, attempt: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(attempt.saturating_sub(1));
        let longest = self.backoff.saturating_mul(doubled).min(MAX_BACKOFF);
        let random = getrandom::u32().unwrap_or(u32::MAX / 2);
        longest.mul_f64(0.5 + f64::from(random) / f64::from(u32::MAX) / 2.0)
    }
}

/// Waits until somebody says stop.
async fn said(stop: &Stop) {
    let fd = stop.fd().ok().and_then(|fd| fd.as_fd().try_clone_to_owned().ok());
    if let Some(fd) = fd
        && let Ok(pipe) = Receiver::from_owned_fd(fd)
    {
        let _ = pipe.readable().await;
    }
    while !stop.is_said() {
        tokio::time::sleep(LOOK).await;
    }
}

/// Waits until the time is over.
async fn over(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}
