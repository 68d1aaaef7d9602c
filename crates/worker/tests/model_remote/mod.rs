//! Models over the network, against servers that speak the providers' protocols.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod again;
mod calls;
mod connections;
mod conversation;
mod hostile;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::model::{ask, ask_until, request, user};
use serde_json::{Value, json};
use zonekeep::Stop;
use zonekeep_testkit::provider::{Called, Protocol, Provider, Turn};
use zonekeep_worker::model::{
    self as models, CallResult, End, File, Message, ModelError, Reply, ToolSpec, Usage,
};

/// Returns settings that lead to `provider`, and wait for nothing long.
fn settings(provider: &Provider) -> models::Settings {
    let variables = provider.environment();
    let env = move |name: &str| {
        let found = variables.iter().find(|(have, _)| *have == name);
        found.map(|(_, value)| value.clone())
    };
    models::Settings {
        env: Arc::new(env),
        connect: Duration::from_secs(120),
        idle: Duration::from_secs(120),
        backoff: Duration::from_millis(1),
        ..models::Settings::new("/nowhere")
    }
}

fn open(provider: &Provider) -> Arc<dyn models::Model> {
    models::open(&provider.model(), &settings(provider)).unwrap()
}

/// Runs a test against each of the providers.
fn each(turns: impl Fn() -> Vec<Turn>, test: impl Fn(Protocol, &Provider)) {
    for protocol in Protocol::ALL {
        let provider = Provider::new(protocol, turns());
        test(protocol, &provider);
    }
}

fn tools() -> Vec<ToolSpec> {
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    ["read_file", "web_search", "codeExecution"]
        .map(|name| ToolSpec {
            name: name.to_owned(),
            description: format!("does {name}"),
            schema: schema.clone(),
        })
        .into()
}
