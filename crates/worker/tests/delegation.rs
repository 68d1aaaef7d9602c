//! Workers that call workers: what each holds, and what it cannot get.

#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Barrier, Mutex};

use crate::common::{Place, calls, input, results, says, tool_names, turn};
use serde_json::{Value, json};
use zonekeep::approve::{AllYes, Answer, Callback, Nobody, Request as Asked};
use zonekeep_worker::model::{Message, Reply, Request};
use zonekeep_worker::{Ended, Settings};

const CONFIG: &str = "\
sandbox:
  mode: direct
  zones:
    in: { path: ./in, mode: ro }
    out: { path: ./out, mode: rw, approval: { write: preApproved } }
    secret: { path: ./secret, mode: rw }
";

fn place() -> Place {
    Place::new(CONFIG)
        .file("in/a.txt", "hello\n")
        .file("out/.keep", "")
        .file("secret/key", "sesame\n")
        .worker(
            "main",
            "workers: all\nsandbox: { zones: [{ name: in, mode: ro }, { name: out, mode: rw }] }",
        )
}

/// Returns a model that plays `main` with these calls in its first turn, and
/// other workers with `other`.
fn playing(
    first: Vec<(&'static str, Value)>,
    other: impl Fn(&Request<'_>) -> Result<Reply, zonekeep_worker::model::ModelError>
    + Send
    + Sync
    + 'static,
) -> impl Fn(&Request<'_>) -> Result<Reply, zonekeep_worker::model::ModelError> + Send + Sync + 'static
{
    move |request| match (request.worker, turn(request)) {
        ("main", 0) => calls(&first),
        ("main", _) => {
            let texts: Vec<String> = results(request).into_iter().map(|r| r.text).collect();
            says(&texts.join("|"))
        }
        _ => other(request),
    }
}

fn call(worker: &str) -> (&'static str, Value) {
    ("call_worker", json!({ "worker": worker, "input": "go" }))
}

#[test]
fn a_child_gets_what_it_declares_and_never_more_than_its_caller() {
    let place = place()
        .worker("reader", "sandbox: { zones: [{ name: in, mode: ro }] }")
        .worker("greedy", "sandbox: { zones: [{ name: in, mode: rw }] }")
        .worker("thief", "sandbox: { zones: [{ name: secret, mode: ro }] }")
        .worker("pure", "description: nothing at all");
    let first = ["reader", "greedy", "thief", "pure", "nobody"].map(call).to_vec();
    let tools = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&tools);
    let (runner, events) = place.runner(
        AllYes,
        Settings::default(),
        playing(first, move |request| {
            kept.lock().unwrap().push((request.worker.to_owned(), tool_names(request)));
            match turn(request) {
                0 if request.worker == "reader" => calls(&[
                    ("read_file", json!({ "path": "/in/a.txt" })),
                    ("read_file", json!({ "path": "/secret/key" })),
                    ("write_file", json!({ "path": "/out/x", "content": "" })),
                    ("list_files", json!({ "path": "/" })),
                    ("call_worker", json!({ "worker": "pure", "input": "x" })),
                ]),
                0 if request.worker == "pure" => calls(&[
                    ("read_file", json!({ "path": "/in/a.txt" })),
                    ("shell", json!({ "command": "true" })),
                ]),
                _ => {
                    let texts = results(request);
                    let firsts = texts.iter().map(|r| r.text.lines().next().unwrap_or_default());
                    says(&firsts.collect::<Vec<_>>().join("; "))
                }
            }
        }),
    );
    let outcome = runner.work("main", "x", &[]).unwrap();
    let parts: Vec<&str> = outcome.output.split('|').collect();
    assert!(parts[0].contains("hello"), "{}", parts[0]);
    assert!(parts[0].contains("Cannot access '/secret/key': path is outside sandbox."));
    assert!(parts[0].contains("Cannot access '/out/x': path is outside sandbox."));
    assert!(parts[0].contains("Cannot call 'pure': this worker may not call it."));
    assert!(!parts[0].contains("secret/\n") && !parts[0].contains("out;"));
    assert!(parts[1].starts_with("Cannot call 'greedy': it needs more than this worker has."));
    assert!(parts[2].starts_with("Cannot call 'thief': it needs more than this worker has."));
    assert!(!parts[1].contains("zone") && !parts[2].contains("zone"), "{parts:?}");
    assert!(parts[3].contains("Cannot use 'read_file'") && parts[3].contains("Cannot use 'shell'"));
    assert!(parts[4].starts_with("Cannot call 'nobody'"), "{}", parts[4]);
    for (worker, tools) in tools.lock().unwrap().iter() {
        match worker.as_str() {
            "pure" => assert!(tools.is_empty(), "{tools:?}"),
            _ => assert!(
                tools.contains(&"read_file".to_owned())
                    && !tools.contains(&"call_worker".to_owned())
            ),
        }
    }
    let errors: Vec<_> =
        place.records().iter().filter_map(|r| r["error"].as_str().map(str::to_owned)).collect();
    for want in [
        "Child requests 'rw' on 'in' but parent only has 'ro'",
        "Child requests zone 'secret' but parent doesn't have it",
    ] {
        assert!(errors.iter().any(|error| error.contains(want)), "{want}: {errors:?}");
    }
    let depths: Vec<_> = events.of("started").iter().map(|e| e["depth"].clone()).collect();
    assert_eq!(depths, [0, 1, 1]);
}

#[test]
fn depth_ends_and_cycles_are_refused() {
    let config = format!("{CONFIG}delegation: {{ maxDepth: 3 }}\n");
    let place = Place::new(&config)
        .file("in/a.txt", "")
        .file("out/.keep", "")
        .file("secret/key", "")
        .worker("main", "workers: all")
        .worker("a", "workers: all")
        .worker("b", "workers: all")
        .worker("c", "workers: all");
    let next = |request: &Request<'_>, name: &str| match turn(request) {
        0 => calls(&[call(name)]),
        _ => says(&results(request)[0].text),
    };
    let (runner, _) =
        place.runner(Nobody, Settings::default(), move |request| match request.worker {
            "main" => next(request, "a"),
            "a" => next(request, "b"),
            _ => next(request, "c"),
        });
    let output = runner.work("main", "x", &[]).unwrap().output;
    assert!(output.starts_with("Cannot call 'c'"), "{output}");
    assert!(output.contains("main → a → b → c"), "{output}");
    let (runner, _) = place.runner(Nobody, Settings::default(), move |request| {
        next(request, if request.worker == "main" { "a" } else { "main" })
    });
    let output = runner.work("main", "x", &[]).unwrap().output;
    assert!(
        output.starts_with("Cannot call 'main'") && output.contains("main → a → main"),
        "{output}"
    );
}

#[test]
fn only_workers_that_are_named_can_be_called() {
    let place = place()
        .worker("picky", "workers: [good]\nallow_empty_input: true")
        .worker("good", "description: Does good\nallow_empty_input: true")
        .worker("bad", "description: Does harm\nallow_empty_input: true");
    let (runner, _) = place.runner(Nobody, Settings::default(), |request| {
        match (request.worker, turn(request)) {
            ("picky", 0) => {
                let described = &request.tools[0].description;
                assert!(described.contains("good: Does good") && !described.contains("bad"));
                calls(&[call("bad"), call("good")])
            }
            ("picky", _) => {
                let texts: Vec<_> = results(request).into_iter().map(|r| r.text).collect();
                says(&texts.join("|"))
            }
            (other, _) => says(other),
        }
    });
    let output = runner.work("picky", "", &[]).unwrap().output;
    assert_eq!(output, "Cannot call 'bad': this worker may not call it.\nWorkers: good|good");
}

#[test]
fn workers_can_be_tools_of_their_own() {
    let place = place()
        .worker("boss", "workers: [\"The Clerk\"]\nworkers_as_tools: true\nallow_empty_input: true")
        .file(
            "workers/clerk.worker",
            "---\nname: The Clerk\ndescription: Files things\n---\nFile.\n",
        );
    let (runner, _) = place.runner(Nobody, Settings::default(), |request| {
        match (request.worker, turn(request)) {
            ("boss", 0) => {
                assert_eq!(tool_names(request), ["call_worker", "The_Clerk"]);
                calls(&[
                    ("The_Clerk", json!({ "input": "a" })),
                    ("The_Clerk", json!({ "nput": "a" })),
                ])
            }
            ("boss", _) => says(&results(request)[0].text),
            (_, _) => says(&format!("filed {}", input(request))),
        }
    });
    assert_eq!(runner.work("boss", "", &[]).unwrap().output, "filed a");
}

#[test]
fn several_workers_work_at_the_same_time() {
    let place = place().worker("one", "description: x");
    let barrier = Arc::new(Barrier::new(3));
    let (runner, _) = place.runner(
        Nobody,
        Settings::default(),
        playing(vec![call("one"), call("one"), call("one")], move |_| {
            // Ends only when all three are here.
            barrier.wait();
            says("ok")
        }),
    );
    assert_eq!(runner.work("main", "x", &[]).unwrap().output, "ok|ok|ok");
}

#[test]
fn attachments_are_read_by_the_caller() {
    let place = place()
        .worker("pure", "attachment_policy: { max_attachments: 1 }\nallow_empty_input: true");
    let attach = |path: &str| {
        ("call_worker", json!({ "worker": "pure", "input": "", "attachments": [path] }))
    };
    let (runner, _) = place.runner(
        Nobody,
        Settings::default(),
        playing(
            vec![
                attach("/in/a.txt"),
                attach("/secret/key"),
                attach("/in/../secret/key"),
                attach("../secret/key"),
                ("call_worker", json!({ "worker": "pure", "input": "", "attachments": ["/in/a.txt", "/in/a.txt"] })),
            ],
            |request| {
                let Message::User { files, .. } = &request.messages[0] else { panic!() };
                assert!(tool_names(request).is_empty());
                says(&String::from_utf8_lossy(&files[0].bytes))
            },
        ),
    );
    let output = runner.work("main", "x", &[]).unwrap().output;
    let parts: Vec<&str> = output.split('|').collect();
    assert_eq!(parts[0], "hello\n");
    for part in &parts[1..4] {
        assert!(part.contains("path is outside sandbox."), "{part}");
    }
    assert_eq!(parts[4], "Cannot attach 2 files: the worker takes 1 at most.");
    assert!(!output.contains("sesame"));
}

#[test]
fn the_approver_and_its_memory_are_shared_down_the_chain() {
    let config = CONFIG.replace("write: preApproved", "write: ask");
    let place = Place::new(&config)
        .file("in/a.txt", "")
        .file("out/.keep", "")
        .file("secret/key", "")
        .worker("main", "workers: all\nsandbox: { zones: [{ name: out, mode: rw }] }")
        .worker("child", "sandbox: { zones: [{ name: out, mode: rw }] }");
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&asked);
    let approver = Callback(move |request: &Asked| {
        kept.lock().unwrap().push(format!("{} {}", request.worker.clone().unwrap(), request.path));
        Answer::yes_for_session()
    });
    let write = ("write_file", json!({ "path": "/out/x", "content": "y" }));
    let child_write = write.clone();
    let (runner, _) = place.runner(
        approver,
        Settings::default(),
        playing(vec![write, call("child")], move |request| match turn(request) {
            0 => calls(std::slice::from_ref(&child_write)),
            _ => says("ok"),
        }),
    );
    assert_eq!(runner.work("main", "x", &[]).unwrap().ended, Ended::Answer);
    assert_eq!(*asked.lock().unwrap(), ["main /out/x"]);
}

#[test]
fn budgets_are_shared_down_the_chain() {
    let place = place().worker("child", "description: x");
    let settings = Settings { budget: Some(100), ..Settings::default() };
    let (runner, _) = place.runner(
        Nobody,
        settings,
        playing(vec![call("child"), call("child")], |_| calls(&[("x", json!({}))])),
    );
    let outcome = runner.work("main", "x", &[]).unwrap();
    assert_eq!(outcome.ended, Ended::Budget);
    // Two at a time can each go over by one reply.
    assert!((100..=145).contains(&outcome.usage.total()), "{:?}", outcome.usage);
}

#[test]
fn calls_can_need_a_yes() {
    let config = format!("{CONFIG}tool_rules: {{ call_worker: {{ approval_required: true }} }}\n");
    let place = Place::new(&config)
        .file("in/a.txt", "")
        .file("out/.keep", "")
        .file("secret/key", "")
        .worker("main", "workers: all")
        .worker("child", "description: x");
    for (yes, want) in [(true, "ok|ok"), (false, "Cannot call 'child'")] {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        let approver = Callback(move |request: &Asked| {
            kept.lock().unwrap().push(request.clone());
            if yes { Answer::yes() } else { Answer::no() }
        });
        let (runner, _) = place.runner(
            approver,
            Settings::default(),
            playing(vec![call("child"), call("child")], |_| says("ok")),
        );
        let output = runner.work("main", "x", &[]).unwrap().output;
        assert!(output.starts_with(want), "{output}");
        let asked = asked.lock().unwrap();
        assert_eq!(asked.len(), 2);
        assert_eq!((asked[0].verb.as_str(), asked[0].path.as_str()), ("call", "child"));
        assert_eq!(asked[0].details[0], ("input".to_owned(), "go".to_owned()));
    }
}

#[test]
fn files_that_others_could_have_written_define_nothing() {
    use zonekeep_worker::{Registry, RegistryError};
    let config = "\
sandbox:
  mode: direct
  zones:
    mail: { path: ./workers/mail, mode: ro, untrusted: true }
    notes: { path: ./templates, mode: rw }
    here: { path: ./workers/here, mode: rw }
  guard: { '*.worker': allow }
";
    let worker = |name: &str, text: &str| format!("---\nname: {name}\n---\n{text}\n");
    let place = Place::new(config)
        .file("workers/mail/worker.worker", &worker("mail", "X"))
        .file("workers/here/worker.worker", &worker("here", "X"))
        .file("templates/a.md", "A")
        .file("good.worker", &worker("good", "X"))
        .file("includes.worker", &worker("includes", "{% include 'a.md' %}"))
        .file("steals.worker", &worker("steals", "{{ file('workers/mail/worker.worker') }}"));
    let outside = place.temp.path().join("outside.worker");
    std::fs::write(&outside, worker("outside", "X")).unwrap();
    for (name, target) in [("link", outside.to_str().unwrap()), ("env", "/proc/self/environ")] {
        std::os::unix::fs::symlink(target, place.path(&format!("{name}.worker"))).unwrap();
    }
    // The same file under a name that agents can write.
    std::fs::write(place.path("hard.worker"), worker("hard", "X")).unwrap();
    std::fs::hard_link(place.path("hard.worker"), place.path("templates/hard.txt")).unwrap();
    let registry = Registry::find(&place.project()).unwrap();
    let broken = registry.found().iter().filter_map(|found| {
        let error = found.worker.as_ref().err()?;
        Some(format!(
            "{}: {}",
            found.path.display(),
            matches!(error, RegistryError::Invalid { .. })
        ))
    });
    let want = [
        "env.worker",
        "hard.worker",
        "link.worker",
        "workers/here/worker.worker",
        "workers/mail/worker.worker",
    ];
    assert_eq!(broken.collect::<Vec<_>>(), want.map(|path| format!("{path}: false")));
    assert!(registry.get("good").is_ok());
    for name in ["includes", "steals"] {
        assert!(matches!(registry.get(name), Err(RegistryError::Template(_))), "{name}");
    }
}
