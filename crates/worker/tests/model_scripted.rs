//! Models whose replies are in a file.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::fs;
use std::time::{Duration, Instant};

use crate::model::{ask, ask_until, request, user};
use serde_json::json;
use zonekeep::Stop;
use zonekeep_worker::model::{
    self as models, Call, CallResult, Message, Model, ModelError, Reply, Settings, Usage,
};

const FILE: &str = "replies.yaml";

fn open(text: &str) -> Result<std::sync::Arc<dyn Model>, ModelError> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(FILE), text).unwrap();
    models::open(&format!("scripted:{FILE}"), &Settings::new(dir.path()))
}

/// Goes on with a conversation: what was said, and what its calls came to.
fn go_on(messages: &mut Vec<Message>, reply: Reply, texts: &[&str]) {
    let results = reply.calls.iter().zip(texts).map(|(call, text)| CallResult {
        id: call.id.clone(),
        name: call.name.clone(),
        text: (*text).to_owned(),
        is_error: false,
        image: None,
    });
    let results = results.collect::<Vec<_>>();
    messages.push(Message::Model { text: reply.text, calls: reply.calls, raw: reply.raw });
    if !results.is_empty() {
        messages.push(Message::Results { results });
    }
}

fn why(error: ModelError) -> String {
    match error {
        ModelError::Script { file, why } => {
            assert_eq!(file, FILE);
            why
        }
        other => panic!("{other:?}"),
    }
}

const CONVERSATION: &str = r#"
main:
  - say: I look at {{input}}.
    call: { list_files: { path: "/{{input}}", deep: [1, "{{ input }}"] } }
  - expect: a.txt
    calls:
      - read_file: { path: a.txt }
      - read_file:
  - expect: [one, two]
    say: "<{{result}}|{{result 2}}|{{answer}}|{{other}}|{{{{input}}>"
    usage: { input: 7, output: 3 }
"#;

#[test]
fn a_conversation_goes_on_where_it_is() {
    let model = open(CONVERSATION).unwrap();
    assert_eq!(model.name(), "scripted:replies.yaml");
    let mut messages = vec![user("inbox")];
    let heard = ask(&*model, &request(&messages));
    let reply = heard.reply.unwrap();
    assert_eq!(
        (heard.text.as_str(), reply.text.as_str()),
        ("I look at inbox.", "I look at inbox.")
    );
    assert_eq!(heard.calls, ["list_files"]);
    let arguments = json!({ "path": "/inbox", "deep": [1, "inbox"] });
    let call = Call {
        id: "call-1-1".to_owned(),
        name: "list_files".to_owned(),
        arguments,
        malformed: None,
    };
    assert_eq!(reply.calls, [call]);
    // "You are a test." and "inbox"; "I look at inbox.", the tool and its arguments.
    let written = (16 + 10 + reply.calls[0].arguments.to_string().len()).div_ceil(4) as u64;
    assert_eq!(reply.usage, Usage { input: 5, output: written, cached: 0 });

    go_on(&mut messages, reply, &["a.txt\nb.txt"]);
    // Asked twice, it says the same.
    let reply = ask(&*model, &request(&messages)).reply.unwrap();
    assert_eq!(ask(&*model, &request(&messages)).reply.as_ref(), Ok(&reply));
    assert_eq!(reply.calls.len(), 2);
    assert_eq!((&*reply.calls[1].id, &reply.calls[1].arguments), ("call-2-2", &json!({})));

    go_on(&mut messages, reply, &["  one {{input}}\n", "two"]);
    let reply = ask(&*model, &request(&messages)).reply.unwrap();
    assert_eq!(reply.text, "<  one {{input}}\n|two|one {{input}}|{{other}}|{{inbox>");
    assert_eq!(reply.usage, Usage { input: 7, output: 3, cached: 0 });

    go_on(&mut messages, reply, &[]);
    let error = ask(&*model, &request(&messages)).reply.unwrap_err();
    assert_eq!(why(error), "main: there are 3 turns, and this is turn 4");
}

#[test]
fn what_is_expected_has_to_be_there() {
    let model = open(CONVERSATION).unwrap();
    let mut messages = vec![user("inbox")];
    let reply = ask(&*model, &request(&messages)).reply.unwrap();
    go_on(&mut messages, reply, &["nothing here"]);
    let error = ask(&*model, &request(&messages)).reply.unwrap_err();
    assert_eq!(why(error), "main, turn 2: expected 'a.txt', and there is 'nothing here'");
    messages.pop();
    let error = ask(&*model, &request(&messages)).reply.unwrap_err();
    assert_eq!(why(error), "main, turn 2: expected 'a.txt', and there is nothing");
    // What the worker is told instead of a result counts too.
    messages.push(user("the answer is not a.txt"));
    ask(&*model, &request(&messages)).reply.unwrap();
}

#[test]
fn turns_are_chosen_by_worker_and_input() {
    let model = open(
        "main:
  - when: alpha
    turns: [{ say: one }]
  - when: beta
    turns: [{ say: two }]
other:
  - when: alpha
    turns: [{ say: three }]
  - turns: [{ say: four }]
",
    )
    .unwrap();
    let cases = [
        ("main", "an alpha", Ok("one")),
        ("main", "a beta and an alpha", Ok("one")),
        ("main", "a beta", Ok("two")),
        ("main", "gamma", Err("main: no 'when' is in the input: 'gamma'")),
        ("other", "alpha", Ok("three")),
        ("other", "", Ok("four")),
        ("third", "", Err("there are no turns for the worker 'third' (only for main, other)")),
    ];
    for (worker, input, want) in cases {
        let messages = [user(input)];
        let reply = ask(&*model, &models::Request { worker, ..request(&messages) }).reply;
        match want {
            Ok(want) => assert_eq!(reply.unwrap().text, want, "{worker} {input}"),
            Err(want) => assert_eq!(why(reply.unwrap_err()), want),
        }
    }
}

#[test]
fn a_result_that_is_not_there_is_an_error() {
    for (say, want) in
        [("{{result}}", "1"), ("{{answer}}", "1"), ("{{result 0}}", "0"), ("{{result 9}}", "9")]
    {
        let model = open(&format!("main: [{{ say: '{say}' }}]")).unwrap();
        let messages = [user("x")];
        let error = ask(&*model, &request(&messages)).reply.unwrap_err();
        let want = format!("main, turn 1: there is no result {want}: the turn before has 0");
        assert_eq!(why(error), want);
    }
}

#[test]
fn arguments_can_be_malformed_on_purpose() {
    let model = open("main: [{ call: { read_file: nonsense } }]").unwrap();
    let messages = [user("x")];
    let reply = ask(&*model, &request(&messages)).reply.unwrap();
    assert_eq!(reply.calls[0].arguments, json!(null));
    assert!(reply.calls[0].malformed.is_some());
}

#[test]
fn a_delay_is_waited_for_and_can_be_ended() {
    let model = open("main: [{ say: hi, delay: 60ms }, { say: late, delay: 1m }]").unwrap();
    let mut messages = vec![user("x")];
    let heard = ask(&*model, &request(&messages));
    assert!(heard.retries.is_empty());
    assert!(heard.took >= Duration::from_millis(60));
    go_on(&mut messages, heard.reply.unwrap(), &[]);
    let deadline = Some(Instant::now() + Duration::from_millis(50));
    let late = ask(&*model, &models::Request { deadline, ..request(&messages) });
    let name = model.name().to_owned();
    assert_eq!(late.reply, Err(ModelError::TimedOut { name }));
    let stop = Stop::new();
    let saying = stop.clone();
    let sayer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        saying.say();
    });
    let stopped = ask_until(&*model, &request(&messages), &stop);
    sayer.join().unwrap();
    assert_eq!(stopped.reply, Err(ModelError::Stopped));
}

#[test]
fn a_file_with_mistakes_is_refused_with_the_line() {
    let cases = [
        (
            "main:\n  - say: x\n    sya: y",
            "main: turn 1: the key 'sya' on line 3 is not known (there are expect, say, call, calls, usage, delay)",
        ),
        (
            "main:\n  - { say: x, 'cal': y }",
            "main: turn 1: the key 'cal' on line 2 is not known (there are expect, say, call, calls, usage, delay)",
        ),
        (
            "main:\n  - when: x\n    turn: []",
            "main: the key 'turn' on line 3 is not known (there are when, turns)",
        ),
        (
            "main:\n  - turns: []\n  - say: x",
            "main: the key 'say' on line 3 is not known (there are when, turns)",
        ),
        (
            "main: [{ say: x, usage: { inputs: 1 } }]",
            "main: turn 1: the key 'inputs' on line 1 is not known (there are input, output)",
        ),
        ("main: [{ say: x, usage: { input: -1 } }]", "main: turn 1: 'input' has to be a number"),
        ("main: [{ say: [x] }]", "main: turn 1: 'say' has to be text"),
        ("main: [{ expect: x }]", "main: turn 1: it says nothing and calls nothing"),
        (
            "main: [{ call: { a: {}, b: {} } }]",
            "main: turn 1: a call has to be a map with one tool in it",
        ),
        ("main: [{ calls: { a: {} } }]", "main: turn 1: 'calls' has to be a list"),
        (
            "main: [{ say: x, delay: soon }]",
            "main: turn 1: 'delay' has to be a time such as 200ms or 2s",
        ),
        ("main: [x]", "main: turn 1: it has to be a map"),
        ("main: x", "main: it has to be a list of turns"),
        ("[]", "it has to be a map from workers to turns"),
        ("", "it has to be a map from workers to turns"),
    ];
    for (text, want) in cases {
        assert_eq!(why(open(text).err().unwrap()), want, "{text}");
    }
    let yaml = why(open("main:\n  - [").err().unwrap());
    assert!(yaml.starts_with("line 2: ") || yaml.starts_with("line 3: "), "{yaml}");
}

#[test]
fn the_file_is_in_the_project() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("project")).unwrap();
    fs::write(dir.path().join("outside.yaml"), "main: [{ say: x }]").unwrap();
    let settings = Settings::new(dir.path().join("project"));
    let absolute = dir.path().join("outside.yaml");
    for file in ["../outside.yaml", "a/../../outside.yaml", absolute.to_str().unwrap()] {
        let error = models::open(&format!("scripted:{file}"), &settings).err().unwrap();
        assert!(
            error.to_string().ends_with("the file has to be in the project directory"),
            "{error}"
        );
    }
    let missing = models::open("scripted:none.yaml", &settings).err().unwrap();
    assert!(matches!(missing, ModelError::Script { .. }), "{missing:?}");
    fs::write(dir.path().join("project/big.yaml"), vec![b'#'; 2 << 20]).unwrap();
    let big = models::open("scripted:./big.yaml", &settings).err().unwrap();
    assert!(big.to_string().contains("is larger than"), "{big}");
}
