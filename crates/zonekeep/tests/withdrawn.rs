//! The socket's answers to whoever asks: is somebody there, and a question that is
//! not waited for any more.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::common::{files, open};
use zonekeep::approve::socket::{Client, How, Notice};
use zonekeep::approve::{Answer, Approver, Request, Socket};
use zonekeep::{Session, Stop};
use zonekeep_testkit::{PATIENCE, Project as Files, eventually};

fn scene(limit: Duration) -> (Files, Arc<Socket>, Session) {
    let files = files();
    let socket = Arc::new(Socket::at(files.beside("run/a.sock")).within(limit));
    assert!(!socket.attached());
    let session = open(&files, Arc::clone(&socket));
    (files, socket, session)
}

fn request(id: &str) -> Request {
    Request {
        id: id.into(),
        verb: "write".into(),
        path: "/asked/c.txt".into(),
        ..Request::default()
    }
}

/// Asks in a thread of its own.
fn ask(socket: &Arc<Socket>, id: &str, stop: &Stop) -> JoinHandle<Answer> {
    let (socket, request, stop) = (Arc::clone(socket), request(id), stop.clone());
    thread::spawn(move || socket.ask_until(&request, &stop))
}

fn withdrawn() -> Answer {
    Answer { unasked: Some("the question was withdrawn".to_owned()), ..Answer::no() }
}

#[test]
fn attached_is_who_has_shown_the_key_and_has_not_left() {
    let (_files, socket, _session) = scene(PATIENCE);
    let path = socket.path().unwrap().to_owned();
    let attached = |want: bool| {
        eventually("attached", || (socket.attached() == want).then_some(()));
    };
    assert!(!socket.attached());
    // Who is connected and says nothing, or something wrong, is not attached.
    let silent = UnixStream::connect(&path).unwrap();
    let mut wrong = UnixStream::connect(&path).unwrap();
    wrong.write_all(b"{\"type\":\"hello\",\"key\":\"wrong\"}\n").unwrap();
    let mut said = String::new();
    wrong.read_to_string(&mut said).unwrap();
    assert!(said.contains("the key is wrong") && !socket.attached(), "{said}");

    let one = Client::attach(&path).unwrap();
    assert!(socket.attached(), "from when it was greeted on");
    let two = Client::attach(&path).unwrap();
    drop(one);
    drop(silent);
    thread::sleep(Duration::from_millis(50));
    assert!(socket.attached(), "the other one is there");
    drop(two);
    attached(false);
    let again = Client::attach(&path).unwrap();
    assert!(socket.attached());
    drop(again);
    attached(false);
}

#[test]
fn a_question_is_withdrawn_when_the_word_is_said() {
    let (_files, socket, _session) = scene(PATIENCE);
    let mut client = Client::attach(socket.path().unwrap()).unwrap();
    let above = Stop::new();
    let (stop, other) = (above.below(), Stop::new());
    let asking = ask(&socket, "one", &stop);
    assert_eq!(client.next().unwrap(), Some(Notice::Request(Box::new(request("one")))));
    let beside = ask(&socket, "two", &other);
    assert_eq!(client.next().unwrap(), Some(Notice::Request(Box::new(request("two")))));

    let since = Instant::now();
    above.say();
    assert_eq!(asking.join().unwrap(), withdrawn());
    assert!(since.elapsed() < PATIENCE / 2);
    let settled = Notice::Settled { id: "one".into(), how: How::Withdrawn };
    assert_eq!(client.next().unwrap(), Some(settled));
    // It is too late for an answer.
    client.answer("one", &Answer::yes()).unwrap();
    let notice = client.next().unwrap();
    assert!(
        matches!(&notice, Some(Notice::Error { id: Some(id), .. }) if id == "one"),
        "{notice:?}"
    );
    // The other question waits on.
    assert_eq!(Client::attach(socket.path().unwrap()).unwrap().pending, 1);
    client.answer("two", &Answer::yes()).unwrap();
    assert_eq!(beside.join().unwrap(), Answer::yes());
    assert_eq!(client.next().unwrap(), Some(Notice::Accepted { id: "two".into() }));
}

#[test]
fn a_question_that_nobody_waits_for_is_not_asked() {
    let (_files, socket, _session) = scene(PATIENCE);
    let mut client = Client::attach(socket.path().unwrap()).unwrap();
    let stop = Stop::new();
    stop.say();
    assert_eq!(socket.ask_until(&request("one"), &stop), withdrawn());
    let asking = ask(&socket, "two", &Stop::new());
    assert_eq!(client.next().unwrap(), Some(Notice::Request(Box::new(request("two")))));
    client.answer("two", &Answer::no_because("no")).unwrap();
    assert_eq!(asking.join().unwrap(), Answer::no_because("no"));
}

#[test]
fn without_a_word_a_question_waits_as_long_as_ever() {
    let (_files, socket, _session) = scene(Duration::from_millis(300));
    let since = Instant::now();
    let late = "nobody answered within 300 milliseconds".to_owned();
    let late = Answer { unasked: Some(late), ..Answer::no() };
    assert_eq!(socket.ask_until(&request("one"), &Stop::new()), late);
    assert_eq!(socket.ask(&request("two")), late);
    assert!(since.elapsed() >= Duration::from_millis(600));
}

#[test]
fn an_answer_and_the_word_at_the_same_time_come_to_one_of_the_two() {
    let (_files, socket, _session) = scene(PATIENCE);
    let mut client = Client::attach(socket.path().unwrap()).unwrap();
    for round in 0..50 {
        let (id, stop) = (format!("q{round}"), Stop::new());
        let asking = ask(&socket, &id, &stop);
        assert_eq!(client.next().unwrap(), Some(Notice::Request(Box::new(request(&id)))));
        let saying = thread::spawn(move || stop.say());
        client.answer(&id, &Answer::yes()).unwrap();
        saying.join().unwrap();
        let answer = asking.join().unwrap();
        // What whoever answered is told is what whoever asked got.
        let (mut accepted, mut how) = (None, None);
        while accepted.is_none() || how.is_none() {
            match client.next().unwrap().unwrap() {
                Notice::Accepted { .. } => accepted = Some(true),
                Notice::Error { .. } => accepted = Some(false),
                Notice::Settled { how: what, .. } => how = Some(what),
                other => panic!("{other:?}"),
            }
        }
        let want = if answer.approved { (true, How::Answered) } else { (false, How::Withdrawn) };
        assert_eq!((accepted.unwrap(), how.unwrap()), want, "{answer:?}");
    }
}
