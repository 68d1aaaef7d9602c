//! Whatever a client sends as a request is refused, or written anew so that
//! every reader reads the same: one host, one length, one line to a header.
//!
//! What follows the head of an input is read as a body in chunks.

#![no_main]

use libfuzzer_sys::fuzz_target;
use zonekeep_network::fuzzing::{chunked, request};

fuzz_target!(|data: &[u8]| {
    let mut rest = data;
    if let Some((sent, used)) = request(data) {
        check_head(&sent);
        let again = request(&sent).expect("what is sent can be read");
        assert_eq!(again, (sent.clone(), sent.len()), "and is read as it was meant");
        rest = &data[used..];
    }
    check_body(rest);
});

fn check_head(sent: &[u8]) {
    let text = sent.strip_suffix(b"\r\n\r\n").expect("a head ends");
    let lines: Vec<&[u8]> = split(text);
    for line in &lines {
        assert!(line.iter().all(|&byte| byte == b'\t' || byte >= 0x20 && byte != 0x7f), "{line:?}");
    }
    assert_eq!(lines[0].iter().filter(|&&byte| byte == b' ').count(), 2);
    let names: Vec<String> = lines[1..]
        .iter()
        .map(|line| {
            let colon = line.iter().position(|&byte| byte == b':').expect("a header has a colon");
            String::from_utf8(line[..colon].to_ascii_lowercase()).expect("and a name")
        })
        .collect();
    let count = |name: &str| names.iter().filter(|&own| own == name).count();
    assert!(count("host") <= 1);
    assert!(count("content-length") + count("transfer-encoding") <= 1);
    assert!(count("connection") <= 1 && count("upgrade") <= 1);
    assert!(count("proxy-authorization") + count("proxy-connection") + count("te") == 0);
    assert!(names.iter().all(|name| !name.contains([' ', '\t'])));
}

fn split(text: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        lines.push(&rest[..end]);
        rest = &rest[end + 2..];
    }
    lines.push(rest);
    lines
}

/// A body is the same however it comes, and the same to a reader that knows only
/// the plainest form.
fn check_body(bytes: &[u8]) {
    let whole = chunked(bytes, 0);
    for piece in [1, 2, 3, bytes.len() / 2] {
        assert_eq!(chunked(bytes, piece), whole);
    }
    let Some((content, used)) = whole else { return };
    let mut framed = Vec::new();
    for part in content.chunks(7) {
        framed.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
        framed.extend_from_slice(part);
        framed.extend_from_slice(b"\r\n");
    }
    framed.extend_from_slice(b"0\r\n\r\n");
    assert_eq!(chunked(&framed, 5), Some((content, framed.len())));
    assert!(bytes[..used].ends_with(b"\r\n\r\n"));
}
