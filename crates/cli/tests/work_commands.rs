//! Workers whose models run commands: what the kernel holds, and what ends.

#![allow(clippy::unwrap_used)]

#[path = "../../worker/tests/common/mod.rs"]
mod common;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::{Place, calls, results, says, turn};
use serde_json::json;
use zonekeep::Stop;
use zonekeep::approve::{AllYes, Answer, Callback, Request as Asked};
use zonekeep_testkit::skip;
use zonekeep_worker::{Ended, Settings};

const CONFIG: &str = "\
sandbox:
  mode: direct
  zones:
    in: { path: ./in, mode: ro }
    out: { path: ./out, mode: rw, approval: { write: preApproved } }
    secret: { path: ./secret, mode: rw }
";

fn place(config: &str) -> Place {
    let mut place = Place::new(config)
        .file("in/a.txt", "hello\n")
        .file("out/.keep", "")
        .file("secret/key", "sesame\n")
        .worker(
            "main",
            "workers: all\nsandbox: { zones: [{ name: in, mode: ro }, { name: out, mode: rw }] }",
        );
    place.launcher = Some(env!("CARGO_BIN_EXE_zonekeep"));
    place
}

#[test]
fn the_kernel_holds_a_child_to_its_own_grant() {
    let place = place(CONFIG).worker("child", "sandbox: { zones: [{ name: in, mode: ro }] }");
    let shell = |line: &str| ("shell", json!({ "command": line }));
    let lines = ["cat /in/a.txt", "cat /out/.keep", "ls /", "echo x > /in/b", "cat /secret/key"];
    let (runner, _) = place.runner(AllYes, Settings::default(), move |request| {
        let texts: Vec<_> = results(request).into_iter().map(|result| result.text).collect();
        match (request.worker, turn(request)) {
            ("main", 0) => calls(&[
                shell("ls -d /in /out && echo x > /out/by-main"),
                ("call_worker", json!({ "worker": "child", "input": "go" })),
            ]),
            (_, 0) => calls(&lines.map(shell)),
            _ => says(&texts.join("|")),
        }
    });
    let output = runner.work("main", "x", &[]).unwrap().output;
    let parts: Vec<&str> = output.split('|').collect();
    if !parts[0].contains("[exit status 0]") {
        return skip("no tree of its own here");
    }
    assert_eq!(place.read("out/by-main"), "x\n", "the caller's own shell can do it");
    assert!(parts[1].contains("hello"), "{}", parts[1]);
    assert!(parts[2].contains("No such file or directory"), "{}", parts[2]);
    assert!(!parts[3].contains("out\n") && !parts[3].contains("secret"), "{}", parts[3]);
    assert!(parts[4].contains("Read-only file system"), "{}", parts[4]);
    assert!(parts[5].contains("No such file or directory"), "{}", parts[5]);
    assert!(!output.contains("sesame") && !place.path("in/b").exists());
    assert!(runner.report().refused["kernel"] >= 1, "{:?}", runner.report());
}

#[test]
fn what_is_left_running_ends_with_the_run() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let place = place(CONFIG);
    let (runner, _) = place.runner(AllYes, Settings::default(), |request| match turn(request) {
        0 => calls(&[("shell", json!({ "command": "sleep 31337", "background": true }))]),
        _ => says(&results(request)[0].text),
    });
    let outcome = runner.work("main", "x", &[]).unwrap();
    assert!(outcome.output.starts_with("Started as job 1"), "{}", outcome.output);
    let lines = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = lines.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    assert_eq!(lines.filter(|line| *line == b"sleep\x0031337\0").count(), 0);
}

#[test]
fn a_stop_ends_the_command_that_a_run_waits_for() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let place = place(CONFIG);
    let stop = Stop::new();
    let said = stop.clone();
    let begun = Instant::now();
    let runs = place.path("out/runs");
    let (runner, events) = place.runner(AllYes, Settings::default(), move |_| {
        let (said, runs) = (said.clone(), runs.clone());
        std::thread::spawn(move || {
            zonekeep_testkit::eventually("the command", || runs.exists().then_some(()));
            said.say();
        });
        calls(&[("shell", json!({ "command": "touch /out/runs; sleep 600", "timeout": 600 }))])
    });
    let outcome = runner.stopped_by(&stop).work("main", "x", &[]).unwrap();
    assert_eq!(outcome.ended, Ended::Stopped);
    assert!(begun.elapsed() < Duration::from_secs(120));
    assert_eq!(events.of("ended")[0]["ended"], "stopped");
    let records = place.records();
    let ran = records.iter().rev().find(|record| record["action"] == "run").unwrap();
    assert_eq!(ran["run"]["over"], "stopped", "{ran}");
    let last = records.last().unwrap();
    assert_eq!((&last["outcome"], &last["code"]), (&json!("failed"), &json!("stopped")));
}

#[test]
fn the_time_of_a_run_ends_its_command() {
    if !zonekeep_testkit::enforced(env!("CARGO_BIN_EXE_zonekeep")) {
        return;
    }
    let place = place(CONFIG);
    let settings = Settings { time: Some(Duration::from_secs(1)), ..Settings::default() };
    let (runner, _) = place.runner(AllYes, settings, |_| {
        calls(&[("shell", json!({ "command": "sleep 600", "timeout": 600 }))])
    });
    let begun = Instant::now();
    let outcome = runner.work("main", "x", &[]).unwrap();
    assert_eq!((outcome.ended, outcome.turns), (Ended::Time, 1));
    assert!(begun.elapsed() < Duration::from_secs(120));
}

const UNTRUSTED: &str = "\
sandbox:
  mode: direct
  zones:
    in: { path: ./in, mode: ro, untrusted: true }
    out: { path: ./out, mode: rw, approval: { write: preApproved } }
    secret: { path: ./secret, mode: ro }
shell:
  rules: [{ pattern: echo *, approval: preApproved }]
when_tainted: { without: [secret] }
";

#[test]
fn commands_taint_and_are_asked_about_after_that() {
    let mut place = place(UNTRUSTED)
        .worker("both", "sandbox: { zones: all }")
        .worker("other", "sandbox: { zones: [{ name: secret, mode: ro }] }");
    place.launcher = Some(env!("CARGO_BIN_EXE_zonekeep"));
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&asked);
    let approver = Callback(move |request: &Asked| {
        kept.lock().unwrap().push(request.summary());
        Answer::yes()
    });
    let lines = ["echo hi; ls -d /secret", "echo hi", "ls -d /secret"];
    let texts = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&texts);
    let (runner, _) = place.runner(approver, Settings::default(), move |request| {
        seen.lock().unwrap().extend(results(request).into_iter().map(|result| result.text));
        match lines.get(turn(request)) {
            Some(line) => calls(&[("shell", json!({ "command": line }))]),
            None => says("done"),
        }
    });
    let outcome = runner.work("both", "x", &[]).unwrap();
    let (texts, asked) = (texts.lock().unwrap(), asked.lock().unwrap());
    if texts[0].contains("could not be confined") {
        return skip("no command can be run here");
    }
    // What a command reads it can act on at once, so the first one counts too.
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert!(texts[0].starts_with("hi\n") && texts[1].starts_with("hi\n"), "{texts:?}");
    for text in [&texts[0], &texts[2]] {
        assert!(text.contains("No such file or directory"), "{text}");
    }
    assert!(outcome.tainted.unwrap().contains("/in"));
    // The control: a worker without the untrusted directory is not asked, and has
    // what the other one loses.
    let asked = asked.len();
    let (runner, _) = place.runner(AllYes, Settings::default(), |request| match turn(request) {
        0 => calls(&[("shell", json!({ "command": "echo hi; ls -d /secret" }))]),
        _ => says(&results(request)[0].text),
    });
    let outcome = runner.work("other", "x", &[]).unwrap();
    assert!(outcome.output.contains("/secret\n") && outcome.tainted.is_none(), "{outcome:?}");
    assert_eq!(asked, 3);
}

#[test]
fn a_guarded_file_is_reported_whichever_sandbox_took_it_away() {
    let place = place(CONFIG).worker("child", "sandbox: { zones: [{ name: out, mode: rw }] }");
    let (runner, events) = place.runner(AllYes, Settings::default(), |request| {
        let shell = |line: &str| ("shell", json!({ "command": line }));
        match (request.worker, turn(request)) {
            ("main", 0) => calls(&[
                shell("ls /out"),
                ("call_worker", json!({ "worker": "child", "input": "go" })),
            ]),
            ("child", n) if n < 8 => calls(&[shell("cd /out; echo x > .envrc; sleep 0.1")]),
            _ => says("done"),
        }
    });
    runner.work("main", "x", &[]).unwrap();
    let told = events.of("result");
    let told: Vec<_> = told.iter().filter(|e| e["worker"] == "child").collect();
    assert_eq!(told.len(), 8);
    for event in told {
        let text = event["text"].as_str().unwrap();
        if text.contains("could not be confined") {
            return skip("no command can be run here");
        }
        assert!(text.contains("'/out/.envrc' is a guarded file"), "{text}");
        assert_eq!(event["refused_by"], "kernel", "{event}");
    }
    assert!(!place.path("out/.envrc").exists());
}
