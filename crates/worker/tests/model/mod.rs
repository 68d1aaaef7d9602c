//! What the tests of models share.

use std::time::{Duration, Instant};

use zonekeep::Stop;
use zonekeep_testkit::provider::Provider;
use zonekeep_worker::model::{Delta, Message, Model, ModelError, Reply, Request};

/// As long as anything that fails may take.
pub(crate) const SOON: Duration = Duration::from_secs(240);

pub(crate) fn user(text: &str) -> Message {
    Message::User { text: text.to_owned(), files: Vec::new() }
}

pub(crate) fn request(messages: &[Message]) -> Request<'_> {
    Request {
        worker: "main",
        system: "You are a test.",
        messages,
        tools: &[],
        max_tokens: None,
        temperature: None,
        deadline: None,
    }
}

/// What came of a request.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) reply: Result<Reply, ModelError>,
    pub(crate) text: String,
    pub(crate) calls: Vec<String>,
    pub(crate) retries: Vec<(u32, Duration, String)>,
    pub(crate) took: Duration,
}

/// Asks, and keeps all that is told on the way. Nothing that is told or shown
/// has the key in it.
pub(crate) fn ask(model: &dyn Model, request: &Request<'_>) -> Heard {
    ask_until(model, request, &Stop::new())
}

pub(crate) fn ask_until(model: &dyn Model, request: &Request<'_>, stop: &Stop) -> Heard {
    let (mut text, mut calls, mut retries) = (String::new(), Vec::new(), Vec::new());
    let start = Instant::now();
    let reply = model.respond(
        request,
        &mut |delta| match delta {
            Delta::Text(words) => text.push_str(words),
            Delta::Call(name) => calls.push(name.to_owned()),
            Delta::Retrying { attempt, wait, why } => {
                text.clear();
                calls.clear();
                retries.push((attempt, wait, why.to_owned()));
            }
        },
        stop,
    );
    let took = start.elapsed();
    let heard = Heard { reply, text, calls, retries, took };
    let shown = match &heard.reply {
        Ok(_) => format!("{heard:?}"),
        Err(error) => format!("{error} {heard:?}"),
    };
    assert!(!shown.contains(Provider::KEY), "the key is shown");
    assert!(took < SOON, "it took {took:?}");
    heard
}
