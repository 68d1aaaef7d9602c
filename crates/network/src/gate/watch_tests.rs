use super::*;
use crate::event::Reason;

/// A hello for a name, in records of that many bytes.
fn hello_for(name: &str, piece: usize) -> Vec<u8> {
    let long = |length: usize| u16::try_from(length).unwrap().to_be_bytes();
    let mut server_name = vec![0];
    server_name.extend(long(name.len()));
    server_name.extend(name.as_bytes());
    let mut extension = vec![0, 0];
    extension.extend(long(server_name.len() + 2));
    extension.extend(long(server_name.len()));
    extension.extend(server_name);
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0, 2, 0x13, 1, 1, 0]);
    body.extend(long(extension.len()));
    body.extend(extension);
    let mut message = vec![1, 0];
    message.extend(long(body.len()));
    message.extend(body);
    let record = |part: &[u8]| [&[22, 3, 1][..], &long(part.len()), part].concat();
    message.chunks(piece).flat_map(record).collect()
}

/// Passes pieces through a watch; returns what passed.
fn pass(to: Option<&Destination>, pieces: &[&[u8]]) -> Result<Vec<u8>, Reason> {
    let mut watch = Watch::new(to);
    let (mut passed, mut held) = (Vec::new(), Vec::new());
    for piece in pieces {
        held.extend_from_slice(piece);
        let count = watch.see(&held).map_err(|refusal| refusal.reason)?;
        passed.extend(held.drain(..count));
    }
    Ok(passed)
}

fn a_test() -> Destination {
    Destination::parse("a.test:5432").unwrap()
}

#[test]
fn a_hello_is_held_to_the_name_wherever_it_comes() {
    let to = a_test();
    for piece in [1, 2, 5, 40, 500] {
        let (own, other) = (hello_for("a.test", piece), hello_for("b.test", piece));
        for before in
            [&b"EHLO x\r\nSTARTTLS\r\n"[..], b"\0\0\0\x08\x04\xd2\x16\x2f", b"x\n\x16\x03"]
        {
            let whole = [before, &own, b"rest"].concat();
            assert_eq!(pass(Some(&to), &[before, &own, b"rest"]), Ok(whole.clone()), "{piece}");
            let bad = [before, &other].concat();
            // In one piece, and a byte at a time.
            assert_eq!(pass(Some(&to), &[&bad]), Err(Reason::Mismatch), "{piece}");
            let bytes: Vec<&[u8]> = bad.chunks(1).collect();
            assert_eq!(pass(Some(&to), &bytes), Err(Reason::Mismatch), "{piece}");
            let bytes: Vec<&[u8]> = whole.chunks(1).collect();
            assert_eq!(pass(Some(&to), &bytes), Ok(whole.clone()), "{piece}");
            // A second one after the first.
            let bytes = [&own[..], &bad].concat();
            assert_eq!(pass(Some(&to), &[b"x\n", &bytes]), Err(Reason::Mismatch), "{piece}");
            // Nobody to hold it to.
            assert_eq!(pass(None, &[&bad]), Ok(bad.clone()), "{piece}");
        }
    }
}

#[test]
fn a_hello_without_a_name_may_come_later_and_its_end_is_waited_for() {
    let to = a_test();
    let own = hello_for("a.test", 500);
    let passed = pass(Some(&to), &[b"STARTTLS\r\n", &own[..own.len() - 1]]).unwrap();
    assert_eq!(passed, b"STARTTLS\r\n", "nothing of half a hello");
    let mut nameless = vec![22, 3, 1, 0, 45, 1, 0, 0, 41, 3, 3];
    nameless.extend([7; 32]);
    nameless.extend([0, 0, 2, 0x13, 1, 1, 0]);
    let passed = pass(Some(&to), &[b"STARTTLS\r\n", &nameless]).unwrap();
    assert_eq!(passed.len(), 10 + nameless.len());
}

#[test]
fn nothing_is_held_that_only_looks_like_the_beginning() {
    let to = a_test();
    for bytes in
        [&b"x\n\x16"[..], b"x\n\x16\x03", b"x\n\x16\x03\x01", b"x\n\x16\x03\x01\x01\x01\x02"]
    {
        assert_eq!(pass(Some(&to), &[bytes]), Ok(bytes.to_vec()));
    }
}

#[test]
fn a_first_line_is_watched_to_its_end() {
    let to = a_test();
    for to in [None, Some(&to)] {
        let see = |pieces: &[&[u8]]| pass(to, pieces);
        assert!(see(&[b"P\0ST /", b"x\n", b"GET / HTTP/1.1\n"]).is_ok());
        assert!(see(&[b"\0\0\0\x08", b"\x04\xd2"]).is_ok());
        assert!(see(&[b"<3> HTTP/1.1", b" HTTP/1.1\n"]).is_ok());
        assert_eq!(see(&[b"P\0ST /x HT", b"TP/1.1\r\n"]), Err(Reason::Protocol));
        assert_eq!(see(&[b"G\0ET ", b"/x ", b"H", b"T", b"T", b"P", b"/"]), Err(Reason::Protocol));
        let long = vec![b'a'; 100_000];
        assert_eq!(see(&[b"P\0ST /", &long, b" HTTP/1.1"]), Err(Reason::Protocol));
        let far = [&long[..], b" HTTP/1.1"].concat();
        assert_eq!(see(&[b"P\0ST /", &far]), Err(Reason::Protocol));
    }
    let mut watch = Watch::new(None);
    watch.see(b"\0x").unwrap();
    assert!(!watch.is_over());
    watch.see(b"\n").unwrap();
    assert!(watch.is_over());
}
