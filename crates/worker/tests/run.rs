//! The loop with one worker: what a model may do, and what it cannot.

#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{Place, calls, input, results, says, tool_names, turn};
use serde_json::json;
use zonekeep::Stop;
use zonekeep::approve::{AllNo, AllYes, Nobody};
use zonekeep_worker::model::{Call, End, Message, ModelError, Reply, Usage};
use zonekeep_worker::{Ended, Settings, WorkError};

const CONFIG: &str = "\
sandbox:
  mode: direct
  zones:
    in: { path: ./in, mode: ro }
    out: { path: ./out, mode: rw, approval: { write: preApproved } }
";

fn place() -> Place {
    let needs = "sandbox: { zones: [{ name: in, mode: ro }, { name: out, mode: rw }] }";
    Place::new(CONFIG).file("in/a.txt", "hello\n").file("out/.keep", "").worker("main", needs)
}

#[test]
fn tools_are_called_until_there_is_an_answer() {
    let place = place();
    let (runner, events) = place.runner(Nobody, Settings::default(), |request| {
        assert_eq!(request.system, "You are main.");
        match turn(request) {
            0 => calls(&[("read_file", json!({ "path": "/in/a.txt" }))]),
            1 => {
                assert!(results(request)[0].text.contains("hello"));
                calls(&[("write_file", json!({ "path": "/out/b.txt", "content": "x" }))])
            }
            _ => says(&format!("done with {}", input(request))),
        }
    });
    let outcome = runner.work("main", "this", &[]).unwrap();
    assert_eq!((outcome.ended, outcome.output.as_str()), (Ended::Answer, "done with this"));
    assert_eq!((outcome.turns, outcome.usage), (3, Usage { input: 30, output: 15, cached: 0 }));
    assert_eq!(place.read("out/b.txt"), "x");
    let kinds: Vec<_> =
        events.all().iter().map(|e| e["event"].as_str().unwrap().to_owned()).collect();
    assert_eq!(
        kinds,
        "started turn text said call result turn text said call result turn text said ended"
            .split(' ')
            .collect::<Vec<_>>()
    );
    let report = runner.report();
    assert_eq!((report.calls, report.refused.len(), report.commands), (2, 0, 0));
    let records = place.records();
    let shown: Vec<_> =
        records.iter().map(|r| format!("{} {}", r["action"], r["outcome"])).collect();
    assert_eq!(
        shown.join(", ").replace('"', ""),
        "work begun, read done, write begun, write done, work done"
    );
    let work = &records.last().unwrap()["work"];
    assert_eq!(
        (&work["turns"], &work["calls"], &work["ended"]),
        (&json!(3), &json!(2), &json!("answer"))
    );
}

#[test]
fn what_a_model_gets_wrong_comes_back_to_it() {
    let place = place();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let (runner, _) = place.runner(AllYes, Settings::default(), move |request| {
        let malformed = Call {
            id: String::new(),
            name: "read_file".to_owned(),
            arguments: json!(null),
            malformed: Some("expected value at line 1".to_owned()),
        };
        match turn(request) {
            0 => calls(&[
                ("no_such_tool", json!({})),
                ("read_file", json!({ "file": 1 })),
                ("read_file", json!("text")),
                ("read_file", json!({ "path": "/etc/passwd" })),
                ("read_file", json!({ "path": "/in/../../etc/passwd" })),
                ("read_file", json!({ "path": "/in/missing" })),
                ("write_file", json!({ "path": "/in/a.txt", "content": "x" })),
                ("call_worker", json!({ "worker": "main", "input": "x" })),
            ]),
            1 => {
                kept.lock().unwrap().extend(results(request));
                Ok(Reply { calls: vec![malformed], ..Reply::default() })
            }
            _ => {
                kept.lock().unwrap().extend(results(request));
                says("sorry")
            }
        }
    });
    assert_eq!(runner.work("main", "x", &[]).unwrap().ended, Ended::Answer);
    let texts: Vec<String> = seen.lock().unwrap().iter().map(|r| r.text.clone()).collect();
    let want = [
        "Cannot use 'no_such_tool'",
        "Cannot use read_file: unknown field `file`",
        "Cannot use read_file: the arguments must be one JSON object.",
        "Cannot access '/etc/passwd': path is outside sandbox.\nReadable paths: /in, /out",
        "Cannot access '/in/../../etc/passwd': path is outside sandbox.",
        "Cannot read '/in/missing'",
        "Cannot write to '/in/a.txt': path is read-only.\nWritable paths: /out",
        "Cannot call 'main': this worker may not call it.\nWorkers: none",
        "Cannot use read_file: the arguments must be one JSON object.",
    ];
    assert_eq!(texts.len(), want.len());
    for (text, want) in texts.iter().zip(want) {
        assert!(text.starts_with(want), "{text:?}, not {want:?}");
    }
    assert!(texts[8].contains("expected value at line 1"), "{}", texts[8]);
    assert!(seen.lock().unwrap().iter().all(|result| result.is_error));
    assert_eq!(place.read("in/a.txt"), "hello\n");
    let report = runner.report();
    assert_eq!((report.calls, report.refused["policy"]), (9, 5));
}

#[test]
fn loops_end() {
    let place = place();
    let endless = |_: &zonekeep_worker::model::Request<'_>| {
        calls(&[("list_files", json!({ "path": "/in" }))])
    };
    let cases = [
        (Settings { max_turns: Some(7), ..Settings::default() }, Ended::MaxTurns, 7),
        (Settings { budget: Some(50), ..Settings::default() }, Ended::Budget, 4),
        (Settings { time: Some(Duration::ZERO), ..Settings::default() }, Ended::Time, 0),
        (Settings::default(), Ended::MaxTurns, 50),
    ];
    for (settings, ended, turns) in cases {
        let (runner, events) = place.runner(Nobody, settings, endless);
        let outcome = runner.work("main", "x", &[]).unwrap();
        assert_eq!((outcome.ended, outcome.turns), (ended, turns));
        assert_eq!(events.of("ended")[0]["ended"], ended.as_str());
    }
}

#[test]
fn a_worker_and_its_project_set_limits() {
    let config = format!("{CONFIG}delegation: {{ max_turns: 4, budget: 1000 }}\n");
    let place = Place::new(&config)
        .file("in/a.txt", "")
        .file("out/.keep", "")
        .worker("few", "max_turns: 2\nallow_empty_input: true")
        .worker("many", "max_turns: 9\nallow_empty_input: true")
        .worker("cheap", "budget: 20\nallow_empty_input: true");
    for (worker, ended, turns) in
        [("few", Ended::MaxTurns, 2), ("many", Ended::MaxTurns, 4), ("cheap", Ended::Budget, 2)]
    {
        let (runner, _) = place.runner(Nobody, Settings::default(), |_| calls(&[("x", json!({}))]));
        let outcome = runner.work(worker, "", &[]).unwrap();
        assert_eq!((outcome.ended, outcome.turns), (ended, turns), "{worker}");
    }
}

#[test]
fn too_many_calls_at_once_are_not_all_done() {
    let place = place();
    let (runner, events) = place.runner(Nobody, Settings::default(), |request| {
        let call = ("file_info", json!({ "path": "/in/a.txt" }));
        match turn(request) {
            0 => calls(&vec![call; 100]),
            _ => {
                let results = results(request);
                let done = results.iter().filter(|result| !result.is_error).count();
                says(&format!("{done} of {}: {}", results.len(), results[99].text))
            }
        }
    });
    let output = runner.work("main", "x", &[]).unwrap().output;
    assert!(output.starts_with("32 of 100: Not done: at most 32 tools"), "{output}");
    assert_eq!(events.of("call").len(), 32);
}

#[test]
fn a_stop_ends_a_run() {
    let place = place();
    let stop = Stop::new();
    let said = stop.clone();
    let (runner, events) = place.runner(AllYes, Settings::default(), move |_| {
        said.say();
        calls(&[("list_files", json!({ "path": "/in" }))])
    });
    let outcome = runner.stopped_by(&stop).work("main", "x", &[]).unwrap();
    assert_eq!((outcome.ended, outcome.turns), (Ended::Stopped, 1));
    assert!(events.of("result")[0]["text"].as_str().unwrap().starts_with("Not done"));
    let records = place.records();
    let last = records.last().unwrap();
    assert_eq!((&last["outcome"], &last["code"]), (&json!("failed"), &json!("stopped")));
}

#[test]
fn answers_fit_the_schema_or_are_sent_back() {
    let schema = "\
output_schema: { type: object, required: [n], properties: { n: { type: integer } } }
output_retries: 2
allow_empty_input: true";
    let place = place().worker("typed", schema);
    let answers = |texts: &'static [&'static str]| {
        move |request: &zonekeep_worker::model::Request<'_>| {
            assert!(request.system.contains("JSON Schema") && request.system.contains("integer"));
            if turn(request) > 0 {
                let Some(Message::User { text, .. }) = request.messages.last() else { panic!() };
                assert!(text.starts_with("This answer does not fit the schema:"), "{text}");
            }
            says(texts[turn(request).min(texts.len() - 1)])
        }
    };
    let cases: [(&[&str], _, u64); 3] = [
        (&["{\"n\": 1}"], Some(json!({ "n": 1 })), 1),
        (&["one", "{\"n\": \"1\"}", "```json\n{\"n\": 2}\n```"], Some(json!({ "n": 2 })), 3),
        (&["{}"], None, 3),
    ];
    for (texts, value, turns) in cases {
        let (runner, _) = place.runner(Nobody, Settings::default(), answers(texts));
        let outcome = runner.work("typed", "", &[]).unwrap();
        let ended = if value.is_some() { Ended::Answer } else { Ended::Failed };
        assert_eq!((outcome.ended, &outcome.value, outcome.turns), (ended, &value, turns));
    }
}

#[test]
fn a_reply_that_was_cut_is_no_answer() {
    let place = place();
    for (end, want) in [(End::Length, "cut"), (End::Withheld, "withheld")] {
        let (runner, _) = place.runner(Nobody, Settings::default(), move |_| {
            Ok(Reply { text: "so far".to_owned(), end, ..Reply::default() })
        });
        let outcome = runner.work("main", "x", &[]).unwrap();
        assert_eq!(outcome.ended, Ended::Failed);
        assert!(outcome.output.contains(want), "{}", outcome.output);
    }
}

#[test]
fn what_is_missing_is_said_before_anything_runs() {
    let place = place()
        .worker("choosy", "compatible_models: [\"other:*\"]\nallow_empty_input: true")
        .worker("greedy", "sandbox: { zones: [{ name: in, mode: rw }] }");
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let (runner, _) = place.runner(Nobody, Settings::default(), move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        says("x")
    });
    let error = |worker: &str, input: &str, attach: &[&str]| {
        let attach: Vec<String> = attach.iter().map(|path| (*path).to_owned()).collect();
        runner.work(worker, input, &attach).unwrap_err()
    };
    assert!(matches!(error("nobody", "x", &[]), WorkError::Registry(_)));
    assert!(matches!(error("main", " \n", &[]), WorkError::NoInput { .. }));
    assert!(matches!(error("choosy", "x", &[]), WorkError::Incompatible { .. }));
    let exceeds = error("greedy", "x", &[]);
    assert_eq!(exceeds.to_string(), "Child requests 'rw' on 'in' but parent only has 'ro'");
    assert!(matches!(error("main", "x", &["/etc/passwd"]), WorkError::Attach(_)));
    assert!(matches!(error("main", "x", &["/in/missing.txt"]), WorkError::Attach(_)));
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[test]
fn files_go_along_as_bytes() {
    let place = place()
        .file("in/b.md", "# B\n")
        .worker("reader", "attachment_policy: { max_attachments: 2, max_total_bytes: 12, allowed_suffixes: [.txt, .md] }");
    std::fs::write(place.path("in/c.txt"), [0, 159, 146, 150]).unwrap();
    let work = |paths: &[&str]| {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        let (runner, _) = place.runner(Nobody, Settings::default(), |request| {
            let Message::User { files, .. } = &request.messages[0] else { panic!() };
            assert!(tool_names(request).is_empty(), "a pure function");
            let files = files.iter().map(|f| format!("{} {} {}", f.name, f.mime, f.bytes.len()));
            says(&files.collect::<Vec<_>>().join(", "))
        });
        match runner.work("reader", "", &paths) {
            Ok(outcome) => outcome.output,
            Err(error) => format!("error: {error}"),
        }
    };
    assert_eq!(work(&["/in/a.txt", "/in/b.md"]), "a.txt text/plain 6, b.md text/markdown 4");
    let refused = [
        (&["/in/a.txt"; 3][..], "error: Cannot attach 3 files: the worker takes 2 at most."),
        (&["/in/a.txt", "/in/a.txt"], "a.txt text/plain 6, a.txt text/plain 6"),
        (&["/in/c.txt"], "error: Cannot attach '/in/c.txt': it is neither text"),
        (&["/out/.keep"], "error: Cannot attach '/out/.keep': the worker takes no such file."),
    ];
    for (paths, want) in refused {
        assert!(work(paths).starts_with(want), "{paths:?}: {}", work(paths));
    }
    std::fs::write(place.path("in/a.txt"), "more than twelve").unwrap();
    assert_eq!(
        work(&["/in/a.txt"]),
        "error: Cannot attach '/in/a.txt': file too large (16 bytes).\nMaximum allowed: 12 bytes"
    );
    std::fs::write(place.path("in/a.txt"), "nine byte").unwrap();
    assert!(work(&["/in/a.txt", "/in/b.md"]).contains("all files together are too large"));
}

#[test]
fn a_run_that_was_interrupted_goes_on() {
    let place = place();
    let model = |broken: bool| {
        move |request: &zonekeep_worker::model::Request<'_>| match turn(request) {
            0 => calls(&[("read_file", json!({ "path": "/in/a.txt" }))]),
            1 if broken => Err(ModelError::Unreachable { name: "x".into(), why: "y".into() }),
            _ => says(&format!("read: {}", results(request)[0].text.trim())),
        }
    };
    let (runner, _) = place.runner(Nobody, Settings::default(), model(true));
    assert_eq!(runner.work("main", "x", &[]).unwrap().ended, Ended::Failed);
    let session = runner.session().id().to_owned();
    // What it reads now would be something else.
    std::fs::write(place.path("in/a.txt"), "changed").unwrap();
    let (runner, events) = place.runner(Nobody, Settings::default(), model(false));
    let mut conversation = runner.resume(&session).unwrap();
    assert!(conversation.is_open());
    let outcome = conversation.go_on().unwrap();
    assert!(outcome.output.contains("hello"), "{}", outcome.output);
    assert_eq!(events.of("started")[0]["resumes"], session.as_str());
    assert!(events.of("call").is_empty());
    assert!(matches!(conversation.go_on(), Err(WorkError::Over { .. })));
    let records = place.records();
    assert_eq!(records.last().unwrap()["work"]["resumes"], session.as_str());
    // The answer is kept too, and can be asked about.
    let (runner, _) = place.runner(AllNo, Settings::default(), |request| {
        says(&format!("{} messages", request.messages.len()))
    });
    let session = place.records().last().unwrap()["session"].as_str().unwrap().to_owned();
    let mut conversation = runner.resume(&session).unwrap();
    assert!(!conversation.is_open());
    assert_eq!(conversation.say("and now?", Vec::new()).unwrap().output, "5 messages");
    assert!(matches!(runner.resume("00"), Err(WorkError::Resume(_))));
}

#[test]
fn a_model_that_counts_no_tokens_still_uses_them_up() {
    let place = place();
    let endless = |_: &zonekeep_worker::model::Request<'_>| {
        let reply = calls(&[("list_files", json!({ "path": "/in" }))])?;
        Ok(Reply { usage: Usage::default(), ..reply })
    };
    let run = |budget| {
        let settings = Settings { budget, max_turns: Some(40), ..Settings::default() };
        let (runner, _) = place.runner(Nobody, settings, endless);
        runner.work("main", "x", &[]).unwrap()
    };
    // The control: nothing else ends it before.
    assert_eq!(run(None).ended, Ended::MaxTurns);
    let outcome = run(Some(50));
    assert_eq!(outcome.ended, Ended::Budget);
    assert!(outcome.usage.total() >= 50, "{outcome:?}");
}

#[test]
fn replies_are_read_from_the_project_alone() {
    use zonekeep_worker::model::{Settings as Models, open};
    let place = place().file("replies.yaml", "main: [{ say: hi }]\n");
    let outside = place.temp.path().join("outside.yaml");
    std::fs::write(&outside, "main: [{ say: hi }]\n").unwrap();
    std::os::unix::fs::symlink(&outside, place.path("link.yaml")).unwrap();
    std::os::unix::fs::symlink("replies.yaml", place.path("inside.yaml")).unwrap();
    let models = Models::new(place.path(""));
    for (file, works) in [
        ("replies.yaml", true),
        ("inside.yaml", true),
        ("link.yaml", false),
        ("../outside.yaml", false),
        (outside.to_str().unwrap(), false),
    ] {
        assert_eq!(open(&format!("scripted:{file}"), &models).is_ok(), works, "{file}");
    }
}
