use std::time::Instant;

use proptest::prelude::*;
use tokio::io::{DuplexStream, duplex};
use zonekeep_policy::limit::Limits;

use super::*;
use crate::secret::Secret;

const VALUE: &str = "sk-test/0123456789";
const COVER: &str = "zonekeep-secret-ke";

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

fn mask() -> Mask {
    let secret = Secret::new("KEY", VALUE.to_owned(), vec![], "Authorization").unwrap();
    Mask::new([secret].iter())
}

fn asked(requests: &[&str]) -> Asked {
    let asked = Asked::default();
    for method in requests {
        let (method, more) = match *method {
            "UPGRADE" => ("GET", "Connection: Upgrade\r\nUpgrade: websocket\r\n"),
            method => (method, ""),
        };
        let text = format!("{method} / HTTP/1.1\r\nHost: a.test\r\n{more}\r\n");
        asked.push(&Head::parse(text.as_bytes()).unwrap()).unwrap();
    }
    asked
}

/// Returns what is passed on of answers that come in pieces, at once and at the end.
fn passed(requests: &[&str], pieces: &[&[u8]]) -> Result<String, String> {
    let mut answers = Answers::new(asked(requests), mask());
    let mut out = Vec::new();
    for piece in pieces {
        answers.push(piece, &mut out).map_err(|refusal| refusal.detail)?;
    }
    answers.end(&mut out);
    Ok(String::from_utf8(out).unwrap())
}

fn whole(requests: &[&str], answer: &str) -> Result<String, String> {
    passed(requests, &[answer.as_bytes()])
}

/// Takes chunks apart: their content, and what follows the last one.
fn unchunked(mut text: &str) -> (String, &str) {
    let mut content = String::new();
    loop {
        let (size, rest) = text.split_once("\r\n").unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return (content, rest);
        }
        content.push_str(&rest[..size]);
        text = rest[size..].strip_prefix("\r\n").unwrap();
    }
}

fn in_chunks(content: &str, size: usize) -> String {
    let chunk =
        |part: &[u8]| format!("{:x};name=x\r\n{}\r\n", part.len(), String::from_utf8_lossy(part));
    content.as_bytes().chunks(size).map(chunk).collect()
}

#[test]
fn a_value_in_chunks_is_covered() {
    let content = format!("a: {VALUE}, b: {VALUE}\n");
    for size in 1..=content.len() {
        let answer = format!("{CHUNKED}{}0\r\nX-Echo: {VALUE}\r\n\r\n", in_chunks(&content, size));
        for piece in [1, 7, answer.len()] {
            let pieces: Vec<&[u8]> = answer.as_bytes().chunks(piece).collect();
            let out = passed(&["GET"], &pieces).unwrap();
            let (got, trailer) = unchunked(out.strip_prefix(CHUNKED).unwrap());
            assert_eq!(got, content.replace(VALUE, COVER), "{size} {piece}");
            assert_eq!(trailer, format!("X-Echo: {COVER}\r\n\r\n"), "{size} {piece}");
        }
    }
}

#[test]
fn each_answer_is_read_as_its_request_says() {
    let length = format!("HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n{VALUE}");
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 18\r\nTransfer-Encoding: chunked\r\n\r\n";
    let nothing = "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304 Not Modified\r\n\
                   Content-Length: 18\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let early = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
    let twice = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\ncontent-length: 2\r\n\r\nok";
    let chunks = format!("{CHUNKED}2\r\nok\r\n0\r\n\r\n");
    let rest = format!("HTTP/1.0 200 OK\r\n\r\n{VALUE}HTTP/1.1 200 OK\r\n\r\nsk-test");
    let requests = ["HEAD", "GET", "GET", "GET", "GET", "POST", "GET", "GET", "GET"];
    let all = format!("{head}{nothing}{early}{length}{twice}{chunks}{rest}");
    assert_eq!(whole(&requests, &all), Ok(all.replace(VALUE, COVER)));
    let single: Vec<&[u8]> = all.as_bytes().chunks(1).collect();
    let (out, want) = (passed(&requests, &single).unwrap(), all.replace(VALUE, COVER));
    assert_eq!(out.replace("1\r\no\r\n1\r\nk", "2\r\nok"), want);
}

#[test]
fn what_nobody_asked_for_is_not_passed_on() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let late = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n";
    assert_eq!(whole(&["GET"], &format!("{answer}{late}")), Ok(answer.to_owned()));
    assert_eq!(whole(&[], "\x01"), Ok(String::new()));
}

#[test]
fn answers_that_could_be_read_in_two_ways_are_refused() {
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(head::LIMIT));
    let headers = [
        "Content-Length: 2\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 2",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: gzip",
        "Transfer-Encoding: identity",
        "Transfer-Encoding:",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding : chunked",
        "Content-Length: 2\r\nContent-Length: 3",
        "Content-Length: 2, 2",
        "Content-Length: +2",
        "Content-Length:",
        "X: a\r\n b",
        "X: a\nY: b",
        "X: a\rY: b",
        "X: \0",
        "X y: b",
        "no colon",
    ];
    let headers = headers.map(|lines| format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\n0\r\n\r\n"));
    let chunks =
        ["g\r\n", "2\r\nabc\r\n", "-1\r\n", " 1\r\n", "1\n", "0\r\nX y\r\n\r\n", "0\r\n\n"];
    let chunks = chunks.map(|chunks| format!("{CHUNKED}{chunks}"));
    let others = [
        long,
        "SSH-2.0-x\r\n\r\n".to_owned(),
        "\r\nHTTP/1.1 200 OK\r\n\r\n".to_owned(),
        "HTTP/2.0 200 OK\r\n\r\n".to_owned(),
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n".to_owned(),
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(),
    ];
    for answer in headers.iter().chain(&chunks).chain(&others) {
        let why = whole(&["GET"], answer).unwrap_err();
        assert!(why.contains("cannot be read: "), "{answer}: {why}");
    }
}

#[test]
fn an_answer_that_is_cut_keeps_what_may_be_a_value() {
    let length = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n";
    assert_eq!(whole(&["GET"], &format!("{length}a\nsk-test")), Ok(format!("{length}a\n")));
    let cut = whole(&["GET"], &format!("{CHUNKED}9\r\na\nsk-test"));
    assert_eq!(cut, Ok(format!("{CHUNKED}2\r\na\n\r\n")));
    assert_eq!(whole(&["GET"], "HTTP/1.1 200 OK\r\nX: sk-test"), Ok(String::new()));
}

#[test]
fn requests_without_an_answer_are_not_counted_without_end() {
    let (asked, head) = (Asked::default(), b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
    let head = Head::parse(head).unwrap();
    assert_eq!((0..2 * WAITING).filter(|_| asked.push(&head).is_ok()).count(), WAITING);
}

/// A server, a client, and the answers between them.
fn carried(requests: &[&str]) -> (DuplexStream, DuplexStream) {
    let ((server, mut said), (mut back, client)) = (duplex(1 << 16), duplex(1 << 16));
    let mut answers = Answers::new(asked(requests), mask());
    tokio::spawn(async move {
        let meter = Meter::new(&Arc::default(), &Limits::none());
        let _ = answers.carry(&mut said, &mut back, &meter).await;
    });
    (server, client)
}

/// Reads so many bytes: as text, and how long that took.
async fn read(client: &mut DuplexStream, count: usize) -> (String, Duration) {
    let (start, mut got) = (Instant::now(), vec![0; count]);
    timeout(Duration::from_secs(20), client.read_exact(&mut got)).await.unwrap().unwrap();
    (String::from_utf8(got).unwrap(), start.elapsed())
}

#[tokio::test]
async fn answers_that_are_over_and_events_come_at_once() {
    let (mut server, mut client) = carried(&["GET", "GET", "GET"]);
    let length = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nsk-test";
    let chunks = format!("{CHUNKED}7\r\nsk-test\r\n0\r\n\r\n");
    let event = "11\r\ndata: sk-test/0\n\n\r\n";
    for answer in [length, &chunks, CHUNKED, event, event] {
        server.write_all(answer.as_bytes()).await.unwrap();
        let (got, took) = read(&mut client, answer.len()).await;
        assert_eq!(got, answer);
        assert!(took < HOLD / 2, "{answer}: {took:?}");
    }
}

#[tokio::test]
async fn a_pause_in_the_middle_of_a_value_does_not_show_it() {
    for chunked in [true, false] {
        let (mut server, mut client) = carried(&["GET"]);
        let (one, two) = VALUE.split_at(VALUE.len() - 1);
        let (head, one, two) = match chunked {
            false => ("HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n", one.into(), two.into()),
            true => (CHUNKED, in_chunks(one, 99), in_chunks(two, 99) + "0\r\n\r\n"),
        };
        server.write_all(format!("{head}{one}").as_bytes()).await.unwrap();
        assert_eq!(read(&mut client, head.len()).await.0, head);
        tokio::time::sleep(Duration::from_millis(1200)).await;
        server.write_all(two.as_bytes()).await.unwrap();
        drop(server);
        let mut got = String::new();
        client.read_to_string(&mut got).await.unwrap();
        let got = if chunked { unchunked(&got).0 } else { got };
        assert_eq!(got, COVER);
    }
}

/// Right guesses and wrong ones are kept back for the same time.
#[tokio::test]
async fn an_answer_is_not_waited_for_in_vain() {
    let waited = ["an answer: sk-test/0", "an answer: sk-other/"].map(async |guess| {
        let (mut server, mut client) = carried(&["GET"]);
        let head = "HTTP/1.1 200 OK\r\n\r\n";
        server.write_all(format!("{head}{guess}").as_bytes()).await.unwrap();
        read(&mut client, head.len()).await;
        let (got, took) = read(&mut client, guess.len()).await;
        assert_eq!(got, guess);
        assert!(took >= HOLD, "{guess}: {took:?}");
    });
    let [right, wrong] = waited;
    tokio::join!(right, wrong);
}

#[tokio::test]
async fn a_web_socket_passes_when_the_server_agrees() {
    let agreed = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
                  Connection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n";
    let refused = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n";
    for (head, agrees) in [(agreed, true), (refused, false)] {
        let mut answers = Answers::new(asked(&["UPGRADE"]), mask());
        let text = format!("HTTP/1.1 103 Early Hints\r\n\r\n{head}");
        let (mut from, mut to) = (text.as_bytes(), Vec::new());
        let meter = Meter::new(&Arc::default(), &Limits::none());
        let agreed = answers.agreed(&mut from, &mut to, &meter).await.ok();
        assert_eq!((agreed, to.as_slice()), (Some(agrees), text.as_bytes()));
    }
    let (mut server, mut client) = carried(&["UPGRADE"]);
    server.write_all(format!("{agreed}\u{1}\u{12}{VALUE}").as_bytes()).await.unwrap();
    read(&mut client, agreed.len()).await;
    let (got, took) = read(&mut client, 20).await;
    assert_eq!(got, format!("\u{1}\u{12}{COVER}"));
    assert!(took < HOLD / 2, "{took:?}");
}

proptest! {
    /// Whatever the chunks and the pieces, no value is left, and nothing else changes.
    #[test]
    fn no_value_is_left_in_chunks(
        words in prop::collection::vec("(sk-|test|/0|123|45678|9|sk-test/0123456789| |\n)", 0..30),
        size in 1usize..40,
        piece in 1usize..60,
    ) {
        let content = words.concat();
        let answer = format!("{CHUNKED}{}0\r\n\r\n", in_chunks(&content, size));
        let pieces: Vec<&[u8]> = answer.as_bytes().chunks(piece).collect();
        let out = passed(&["GET"], &pieces).unwrap();
        let (got, trailer) = unchunked(out.strip_prefix(CHUNKED).unwrap());
        prop_assert_eq!(got, content.replace(VALUE, COVER));
        prop_assert_eq!(trailer, "\r\n");
    }
}
