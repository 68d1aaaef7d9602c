//! Calls that wait for no answer: what they leave open, and what an answer is
//! good for.

// Tests may fail loudly.
#![allow(clippy::unwrap_used)]

use crate::common;
use serde_json::{Value, json};
use zonekeep::approve::{AllYes, Answer, Request};
use zonekeep::files::Overwrite;
use zonekeep::policy::{Approval, At, Mode, Policy, Ruled, Zone};
use zonekeep::{Error, Given, Sandbox, Session, tools};

fn sandbox() -> Sandbox {
    let mut policy = Policy::empty("/project");
    let at = At::flag("test");
    let mut zone = Zone::new("out", "/project/out", Mode::Rw, at.clone());
    zone.approval.write = Ruled::new(Approval::Ask, at);
    policy.zones.push(zone);
    // Whoever defers asks nobody else.
    Session::in_memory(&policy, AllYes).unwrap().sandbox()
}

fn open(done: Result<impl std::fmt::Debug, Error>) -> Request {
    match done {
        Err(Error::Open(request)) => *request,
        other => panic!("not open: {other:?}"),
    }
}

/// One call has one question at most, so a file that is asked about is left to read_file.
#[test]
fn reading_many_files_leaves_those_that_are_asked_about() {
    let files = common::files();
    let sandbox = common::open(&files, AllYes).sandbox().deferring(Vec::new());
    let arguments = json!({ "paths": ["/output/b.txt", "/asked/c.txt"] });
    let read = tools::call(&sandbox, "read_many", arguments).unwrap();
    assert!(
        read.text.contains("==> /asked/c.txt <==\nCannot read '/asked/c.txt'"),
        "{}",
        read.text
    );
    assert!(!read.text.contains("\nc\n"), "{}", read.text);
    assert_eq!(read.value["files"][0]["content"], "b\n");
    assert_eq!(read.value["files"][1]["error"]["code"], "open");
    let log: Vec<Value> =
        files.log_lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let tools: Vec<_> = log.iter().map(|record| (&record["tool"], &record["path"])).collect();
    assert!(tools.contains(&(&json!("read_file"), &json!("/output/b.txt"))), "{tools:?}");
    let last = log.iter().rfind(|record| record["path"] == "/asked/c.txt").unwrap();
    assert_eq!((&last["outcome"], &last["code"]), (&json!("refused"), &json!("withdrawn")));
}

fn given(request: &Request, answer: Answer) -> Vec<Given> {
    vec![Given::new(request.clone(), answer, "test")]
}

#[test]
fn a_question_stays_open_and_nothing_happens() {
    let sandbox = sandbox();
    let deferring = sandbox.deferring(Vec::new());
    let request = open(deferring.write("/out/a", "one\n"));
    assert_eq!(request.summary(), "write /out/a");
    assert!(!sandbox.exists("/out/a").unwrap());
    // The same sandbox asks as before where it does not defer.
    sandbox.write("/out/a", "one\n").unwrap();
}

#[test]
fn an_answer_is_for_this_question_alone() {
    let sandbox = sandbox();
    let request = open(sandbox.deferring(Vec::new()).write("/out/a", "one\n"));
    let yes = given(&request, Answer::yes());
    let with = sandbox.deferring(yes);
    open(with.write("/out/a", "two\n"));
    open(with.write("/out/b", "one\n"));
    open(with.delete("/out/a"));
    with.write("/out/a", "one\n").unwrap();
    assert_eq!(sandbox.read_text("/out/a").unwrap(), "one\n");
    // What is there has changed, and so has what the answer would change.
    let request = open(sandbox.deferring(Vec::new()).write("/out/a", "three\n"));
    sandbox.write("/out/a", "meanwhile\n").unwrap();
    open(sandbox.deferring(given(&request, Answer::yes())).write("/out/a", "three\n"));
}

#[test]
fn a_yes_to_a_copy_or_move_is_for_what_arrives() {
    let mut policy = Policy::empty("/project");
    let at = At::flag("test");
    let mut asked = Zone::new("ask", "/project/ask", Mode::Rw, at.clone());
    asked.approval.write = Ruled::new(Approval::Ask, at.clone());
    let mut free = Zone::new("free", "/project/free", Mode::Rw, at.clone());
    free.approval.write = Ruled::new(Approval::PreApproved, at.clone());
    free.approval.delete = Ruled::new(Approval::PreApproved, at);
    policy.zones.extend([asked, free]);
    let sandbox = Session::in_memory(&policy, AllYes).unwrap().sandbox();
    type Deed = fn(&Sandbox) -> Result<(), Error>;
    let deeds: [(Deed, &str); 2] = [
        (|s| s.copy("/free/a", "/ask/copied", Overwrite::No).map(drop), "/ask/copied"),
        (|s| s.rename("/free/a", "/ask/moved", Overwrite::No), "/ask/moved"),
    ];
    for (deed, there) in deeds {
        sandbox.write("/free/a", "harmless\n").unwrap();
        let request = open(deed(&sandbox.deferring(Vec::new())));
        assert!(request.diff.as_ref().unwrap().contains("+harmless"), "{request:?}");
        let with = sandbox.deferring(given(&request, Answer::yes()));
        sandbox.write("/free/a", "harmful\n").unwrap();
        let again = open(deed(&with));
        assert!(again.diff.as_ref().unwrap().contains("+harmful"), "{again:?}");
        assert!(!sandbox.exists(there).unwrap());
        // The control: for the content that was shown, the same yes counts.
        sandbox.write("/free/a", "harmless\n").unwrap();
        deed(&with).unwrap();
        assert_eq!(sandbox.read_text(there).unwrap(), "harmless\n");
    }
}

#[test]
fn what_answers_come_to() {
    let sandbox = sandbox();
    let request = open(sandbox.deferring(Vec::new()).write("/out/a", "one\n"));
    let says = |answer| {
        let done = sandbox.deferring(given(&request, answer)).write("/out/a", "one\n");
        done.unwrap_err().to_string()
    };
    assert!(says(Answer::no_because("later")).contains("later"));
    assert!(says(Answer::no()).starts_with("Cannot write to '/out/a'"));
    assert!(says(Answer::unasked("nobody is there")).contains("and nobody is there."));
    let yes = given(&request, Answer::yes_for_session());
    sandbox.deferring(yes).write("/out/a", "one\n").unwrap();
    // Remembered: another content needs no answer of its own.
    sandbox.deferring(Vec::new()).write("/out/a", "two\n").unwrap();
    open(sandbox.deferring(Vec::new()).write("/out/b", "two\n"));
}

#[test]
fn a_digest_tells_questions_apart() {
    let request = |path: &str, diff: Option<&str>| Request {
        verb: "write".into(),
        path: path.into(),
        diff: diff.map(str::to_owned),
        ..Request::default()
    };
    let one = request("/a", Some("+x"));
    let again = Request { id: "other".into(), ..one.clone() };
    assert_eq!(one.digest(), again.digest());
    let others = [
        request("/a", Some("+y")),
        request("/a", None),
        request("/b", Some("+x")),
        Request { worker: Some("w".into()), ..one.clone() },
        Request { reasons: vec!["r".into()], ..one.clone() },
        Request { details: vec![("overwrite".into(), "true".into())], ..one.clone() },
    ];
    for other in others {
        assert_ne!(one.digest(), other.digest(), "{other:?}");
    }
}
