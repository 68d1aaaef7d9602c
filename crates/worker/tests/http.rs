//! The loop against servers that speak the providers' protocols.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::{self, Place};
use serde_json::json;
use zonekeep::Stop;
use zonekeep::approve::Nobody;
use zonekeep_testkit::provider::{Called, Protocol, Provider, Turn};
use zonekeep_worker::model::{self, Settings as Models};
use zonekeep_worker::{Ended, Outcome, Settings};

const CONFIG: &str = "sandbox: { mode: direct, zones: { in: { path: ./in, mode: ro } } }\n";

fn place() -> Place {
    Place::new(CONFIG)
        .file("in/a.txt", "hello\n")
        .worker("main", "sandbox: { zones: [{ name: in, mode: ro }] }")
}

/// Runs `main` with a model that is this server.
fn work(provider: &Provider, settings: Settings, stop: &Stop) -> (Outcome, common::Events) {
    let place = place();
    let variables: BTreeMap<&str, String> = provider.environment().into_iter().collect();
    let models = Models {
        env: Arc::new(move |name| variables.get(name).cloned()),
        backoff: Duration::from_millis(5),
        idle: Duration::from_secs(120),
        ..Models::new(place.path(""))
    };
    let settings = Settings { model: Some(provider.model()), ..settings };
    let (runner, events) =
        place.runner_with(Nobody, settings, move |name| model::open(name, &models));
    let begun = Instant::now();
    let outcome = runner.stopped_by(stop).work("main", "go", &[]).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(240));
    let all = format!("{outcome:?} {:?} {:?}", events.all(), place.records());
    assert!(!all.contains(Provider::KEY), "the key is shown");
    (outcome, events)
}

fn plainly(provider: &Provider) -> (Outcome, common::Events) {
    work(provider, Settings::default(), &Stop::new())
}

#[test]
fn ten_calls_in_one_turn_some_of_them_wrong() {
    for protocol in Protocol::ALL {
        let read =
            |n: usize| Called::new(&format!("c{n}"), "read_file", json!({ "path": "/in/a.txt" }));
        let mut calls: Vec<Called> = (0..7).map(read).collect();
        calls.push(Called::new("c7", "no_such_tool", json!({})));
        calls.push(Called::malformed("c8", "read_file", "\"{not json\""));
        calls.push(Called::new("c9", "read_file", json!({ "path": "/etc/passwd" })));
        let provider = Provider::new(protocol, vec![Turn::called(calls), Turn::text("done")]);
        let (outcome, events) = plainly(&provider);
        assert_eq!(
            (outcome.ended, outcome.output.as_str()),
            (Ended::Answer, "done"),
            "{protocol:?}"
        );
        let results = events.of("result");
        assert_eq!(results.len(), 10, "{protocol:?}");
        let codes: Vec<_> = results.iter().map(|r| r["code"].as_str().unwrap_or("ok")).collect();
        assert_eq!(codes[..7], ["ok"; 7], "{protocol:?}");
        assert_eq!(codes[7..], ["no_tool", "bad_arguments", "outside"], "{protocol:?}");
        let second = provider.requests()[1].body.to_string();
        assert!(second.contains("hello") && second.contains("path is outside sandbox"), "{second}");
    }
}

#[test]
fn what_passes_is_tried_again_and_what_does_not_ends_the_run() {
    for protocol in Protocol::ALL {
        let passing = vec![
            Turn::status(429, "slow down").retry_after("0"),
            Turn::status(500, "oops"),
            Turn::text("half of it").broken(),
            Turn::calls([("list_files", json!({ "path": "/" }))]),
            Turn::status(503, "busy"),
            Turn::text("done"),
        ];
        let (outcome, events) = plainly(&Provider::new(protocol, passing));
        assert_eq!(
            (outcome.ended, outcome.output.as_str()),
            (Ended::Answer, "done"),
            "{protocol:?}"
        );
        assert_eq!(events.of("retrying").len(), 4, "{protocol:?}");
        assert_eq!(outcome.turns, 2);

        let lasting = [
            vec![Turn::status(401, "who are you")],
            vec![
                Turn::garbage(),
                Turn::garbage(),
                Turn::garbage(),
                Turn::garbage(),
                Turn::garbage(),
            ],
            vec![Turn::huge(10 << 20)],
            vec![Turn::endless()],
            (0..6).map(|_| Turn::status(500, "oops")).collect(),
        ];
        for turns in lasting {
            let shown = format!("{protocol:?} {turns:?}");
            let shown: String = shown.chars().take(200).collect();
            let (outcome, events) = plainly(&Provider::new(protocol, turns));
            assert_eq!(outcome.ended, Ended::Failed, "{shown}: {outcome:?}");
            assert_eq!(events.of("ended").len(), 1, "{shown}");
        }
    }
}

#[test]
fn a_slow_server_ends_with_the_time_and_with_a_stop() {
    for protocol in Protocol::ALL {
        let slow =
            || Provider::new(protocol, vec![Turn::text("late").after(Duration::from_secs(300))]);
        let settings = Settings { time: Some(Duration::from_millis(300)), ..Settings::default() };
        let (outcome, _) = work(&slow(), settings, &Stop::new());
        assert!(matches!(outcome.ended, Ended::Time | Ended::Failed), "{protocol:?}: {outcome:?}");
        let stop = Stop::new();
        let said = stop.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            said.say();
        });
        let (outcome, _) = work(&slow(), Settings::default(), &stop);
        assert!(matches!(outcome.ended, Ended::Stopped), "{protocol:?}: {outcome:?}");
    }
}

#[test]
fn a_model_that_never_stops_calling_is_stopped() {
    let endless =
        |n| (0..n).map(|_| Turn::calls([("list_files", json!({ "path": "/" }))])).collect();
    let settings = Settings { max_turns: Some(5), ..Settings::default() };
    let provider = Provider::new(Protocol::ALL[0], endless(10));
    let (outcome, _) = work(&provider, settings, &Stop::new());
    assert_eq!((outcome.ended, provider.requests().len()), (Ended::MaxTurns, 5));
    let settings = Settings { budget: Some(40), ..Settings::default() };
    let provider = Provider::new(Protocol::ALL[0], endless(10));
    let (outcome, _) = work(&provider, settings, &Stop::new());
    assert_eq!((outcome.ended, provider.requests().len()), (Ended::Budget, 3));
}
