//! Questions to a resolver, and the answers.
//!
//! Nothing is ever asked of anybody else: this reads one question and writes
//! the few kinds of answers that there are. The question goes back byte for
//! byte, because resolvers check that even the case of its letters returns.

use std::net::Ipv4Addr;

use crate::codec::{Bytes, Step};

/// The kind of question that asks for an IPv4 address.
pub const A: u16 = 1;
/// The class of all names of the Internet.
pub const IN: u16 = 1;

const HEADER: usize = 12;
/// The longest name, with the lengths of its labels and the end.
const MAX_NAME: usize = 255;
const MAX_LABEL: u8 = 63;
/// The kind of record that carries extensions, and how large a datagram may be.
const OPT: u16 = 41;
const DATAGRAM: u16 = 1232;

const IS_ANSWER: u8 = 0x80;
const OPCODE: u8 = 0x78;
const RECURSION_WANTED: u8 = 0x01;
const RECURSION_OFFERED: u8 = 0x80;
const CHECKING_DISABLED: u8 = 0x10;

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The name in the case it was asked in, without a dot at its end. `None`
    /// where it is the root or has bytes that no host name has.
    pub name: Option<String>,
    /// The name as it can be shown: odd bytes as `\123`.
    pub shown: String,
    /// The kind of record that is asked for.
    pub kind: u16,
    /// The class of it.
    pub class: u16,
    /// The header as it came.
    header: [u8; HEADER],
    /// The question as it came.
    question: Vec<u8>,
    /// The query speaks of extensions, and so does the answer.
    extended: bool,
}

/// A message that is not a question that can be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bad {
    /// Nobody to answer: too short, or itself an answer.
    Silent,
    /// What to answer.
    Answer(Vec<u8>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Code {
    Good = 0,
    Malformed = 1,
    Failed = 2,
    NoSuchName = 3,
    NotOffered = 4,
    Refused = 5,
}

/// Reads one whole message.
pub fn parse(message: &[u8]) -> Result<Query, Bad> {
    let Some((header, rest)) = message.split_first_chunk::<HEADER>() else {
        return Err(Bad::Silent);
    };
    if header[2] & IS_ANSWER != 0 {
        return Err(Bad::Silent);
    }
    let bad = |code| Bad::Answer(head(header, code, [0; 3]).to_vec());
    if header[2] & OPCODE != 0 {
        return Err(bad(Code::NotOffered));
    }
    let mut query = read(header, rest).ok_or_else(|| bad(Code::Malformed))?;
    match extension_version(header, &rest[query.question.len()..]) {
        None => Err(bad(Code::Malformed)),
        Some(None) => Ok(query),
        Some(Some(version)) => {
            query.extended = true;
            if version == 0 { Ok(query) } else { Err(Bad::Answer(query.bad_version())) }
        }
    }
}

/// Reads the one question.
fn read(header: &[u8; HEADER], rest: &[u8]) -> Option<Query> {
    // One question, no answers, no authorities.
    if header[4..10] != [0, 1, 0, 0, 0, 0] {
        return None;
    }
    let mut after = Bytes(rest);
    let (name, shown) = read_name(&mut after)?;
    let (kind, class) = (after.pair()?, after.pair()?);
    let question = rest[..rest.len() - after.len()].to_vec();
    Some(Query { name, shown, kind, class, header: *header, question, extended: false })
}

/// Reads a name, as it is and as it can be shown. There is nothing before it
/// that it could point back to, so pointers are refused with all unknown kinds
/// of labels.
fn read_name(rest: &mut Bytes<'_>) -> Option<(Option<String>, String)> {
    let before = rest.len();
    let (mut shown, mut plain) = (String::new(), true);
    loop {
        if rest.0.first().is_some_and(|&length| length > MAX_LABEL) {
            return None;
        }
        let label = rest.short()?;
        if before - rest.len() > MAX_NAME {
            return None;
        }
        if label.is_empty() {
            break;
        }
        if !shown.is_empty() {
            shown.push('.');
        }
        for &byte in label.0 {
            let usual = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            plain &= usual;
            show(byte, &mut shown);
        }
    }
    if shown.is_empty() {
        return Some((None, ".".to_owned()));
    }
    Some((plain.then(|| shown.clone()), shown))
}

fn show(byte: u8, text: &mut String) {
    match byte {
        b'.' | b'\\' => text.extend(['\\', char::from(byte)]),
        b'!'..=b'~' => text.push(char::from(byte)),
        _ => text.push_str(&format!("\\{byte:03}")),
    }
}

/// Reads what follows the question: nothing, or one record of extensions, whose
/// version is returned. Its options are not looked at.
fn extension_version(header: &[u8; HEADER], rest: &[u8]) -> Option<Option<u8>> {
    match u16::from_be_bytes([header[10], header[11]]) {
        0 => rest.is_empty().then_some(None),
        1 => {
            let mut rest = Bytes(rest);
            let (root, kind) = (rest.byte()?, rest.pair()?);
            let _size = rest.pair()?;
            let &[_code, version, _, _] = rest.take(4)? else { return None };
            rest.long()?;
            (root == 0 && kind == OPT && rest.is_empty()).then_some(Some(version))
        }
        _ => None,
    }
}

impl Query {
    /// The name has this address, for so many seconds.
    pub fn address(&self, address: Ipv4Addr, seconds: u32) -> Vec<u8> {
        let mut record = vec![0xc0, HEADER as u8]; // the name of the question
        record.extend([A, IN].map(u16::to_be_bytes).concat());
        record.extend(seconds.to_be_bytes());
        record.extend([0, 4]);
        record.extend(address.octets());
        self.answer(Code::Good, &record)
    }

    /// The name is there, but has nothing of that kind.
    pub fn empty(&self) -> Vec<u8> {
        self.answer(Code::Good, &[])
    }

    /// There is no such name.
    pub fn no_such_name(&self) -> Vec<u8> {
        self.answer(Code::NoSuchName, &[])
    }

    /// The question is not answered.
    pub fn refused(&self) -> Vec<u8> {
        self.answer(Code::Refused, &[])
    }

    /// The question cannot be answered now.
    pub fn failed(&self) -> Vec<u8> {
        self.answer(Code::Failed, &[])
    }

    /// The query speaks a later version of the extensions.
    fn bad_version(&self) -> Vec<u8> {
        let mut message = self.answer(Code::Good, &[]);
        let code = message.len() - 6; // the upper part of the code, in the last record
        message[code] = 1;
        message
    }

    fn answer(&self, code: Code, record: &[u8]) -> Vec<u8> {
        let counts = [1, u8::from(!record.is_empty()), u8::from(self.extended)];
        let mut message = head(&self.header, code, counts).to_vec();
        message.extend(&self.question);
        message.extend(record);
        if self.extended {
            message.push(0);
            message.extend([OPT, DATAGRAM].map(u16::to_be_bytes).concat());
            message.extend([0; 6]);
        }
        message
    }
}

/// Returns the header of an answer: to the same question, by a resolver that
/// would ask others. `counts` are of questions, answers and additional records.
fn head(asked: &[u8; HEADER], code: Code, counts: [u8; 3]) -> [u8; HEADER] {
    let [questions, answers, additional] = counts;
    let flags = IS_ANSWER | (asked[2] & (OPCODE | RECURSION_WANTED));
    let more = RECURSION_OFFERED | (asked[3] & CHECKING_DISABLED) | code as u8;
    [asked[0], asked[1], flags, more, 0, questions, 0, answers, 0, 0, 0, additional]
}

/// Reads a message as it comes over TCP: its length, then itself.
pub fn frame(bytes: &[u8]) -> Step<&[u8]> {
    let mut rest = Bytes(bytes);
    match rest.long() {
        None => Step::More,
        Some(message) if message.is_empty() => Step::Bad("a DNS message is empty"),
        Some(message) => Step::Done(message.0, bytes.len() - rest.len()),
    }
}

/// Returns a message as it goes over TCP. Answers are always short enough.
pub fn framed(message: &[u8]) -> Vec<u8> {
    let length = u16::try_from(message.len()).unwrap_or(u16::MAX);
    let message = &message[..length.into()];
    [&length.to_be_bytes(), message].concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(name: &str) -> Vec<u8> {
        let labels = name.split('.').filter(|label| !label.is_empty());
        let mut bytes: Vec<u8> =
            labels.flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat()).collect();
        bytes.push(0);
        bytes
    }

    fn asked(name: &[u8], kind: u16, class: u16) -> Vec<u8> {
        let header = [0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        [&header[..], name, &kind.to_be_bytes(), &class.to_be_bytes()].concat()
    }

    const OPTION: [u8; 11] = [0, 0, 41, 0x10, 0, 0, 0, 0x80, 0, 0, 0];

    fn extended(mut message: Vec<u8>, option: &[u8]) -> Vec<u8> {
        message[11] += 1;
        message.extend(option);
        message
    }

    fn code_of(message: &[u8]) -> u8 {
        match parse(message) {
            Err(Bad::Answer(answer)) => answer[3] & 0xf,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_question_is_read_and_answered() {
        let message = asked(&labels("wWw.eXample.ORG"), A, IN);
        let query = parse(&message).unwrap();
        assert_eq!(query.name.as_deref(), Some("wWw.eXample.ORG"));
        assert_eq!((query.kind, query.class), (A, IN));

        let answer = query.address(Ipv4Addr::new(198, 18, 0, 2), 1);
        let question = &message[12..];
        let want = [
            &[0xab, 0xcd, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0][..],
            question,
            &[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 198, 18, 0, 2],
        ]
        .concat();
        assert_eq!(answer, want);
        let codes = [
            (query.empty(), 0),
            (query.no_such_name(), 3),
            (query.refused(), 5),
            (query.failed(), 2),
        ];
        for (answer, code) in codes {
            let head = [0xab, 0xcd, 0x81, 0x80 | code, 0, 1, 0, 0, 0, 0, 0, 0];
            assert_eq!(answer, [&head, question].concat());
        }
    }

    #[test]
    fn extensions_are_answered_with_extensions() {
        let message = extended(asked(&labels("example.org"), A, IN), &OPTION);
        let query = parse(&message).unwrap();
        let answer = query.no_such_name();
        assert_eq!(answer[10..12], [0, 1]);
        assert!(answer.ends_with(&[0, 0, 41, 0x04, 0xd0, 0, 0, 0, 0, 0, 0]));

        let cookie = [0, 0, 41, 2, 0, 0, 0, 0, 0, 0, 6, 0, 10, 0, 2, 1, 2];
        assert!(parse(&extended(asked(&labels("a"), A, IN), &cookie)).is_ok());

        let mut later = OPTION;
        later[6] = 1;
        let Err(Bad::Answer(answer)) = parse(&extended(asked(&labels("a"), A, IN), &later)) else {
            panic!("a later version is answered");
        };
        assert!(answer.ends_with(&[0, 0, 41, 0x04, 0xd0, 1, 0, 0, 0, 0, 0]));
    }

    #[test]
    fn flags_of_the_question_return_and_no_others() {
        let mut message = asked(&labels("a.test"), A, IN);
        for (flags, want) in [
            ([0, 0], [0x80, 0x80]),
            ([1, 0], [0x81, 0x80]),
            ([1, 0x30], [0x81, 0x90]),
            ([0x07, 0xef], [0x81, 0x80]),
        ] {
            message[2..4].copy_from_slice(&flags);
            assert_eq!(parse(&message).unwrap().empty()[2..4], want);
        }
    }

    #[test]
    fn names_that_no_host_has_are_shown_but_not_given() {
        for (name, shown) in [
            (&b"\0"[..], "."),
            (b"\x03a.b\0", "a\\.b"),
            (b"\x03a\\b\x01c\0", "a\\\\b.c"),
            (b"\x03a\0b\x01c\0", "a\\000b.c"),
            (b"\x02\xc3\xa9\0", "\\195\\169"),
            (b"\x03a b\0", "a\\032b"),
            (b"\x01*\x04test\0", "*.test"),
            (b"\x03a/b\0", "a/b"),
        ] {
            let query = parse(&asked(name, A, IN)).unwrap();
            assert_eq!((query.name.as_deref(), &query.shown[..]), (None, shown));
            assert_eq!(query.no_such_name()[12..], asked(name, A, IN)[12..]);
        }
        let name = parse(&asked(&labels("_ldap._tcp.a-b.test"), 33, IN)).unwrap().name;
        assert_eq!(name.as_deref(), Some("_ldap._tcp.a-b.test"));
    }

    #[test]
    fn malformed_messages_are_told_so() {
        let good = asked(&labels("example.org"), A, IN);
        let with = |at: usize, value: u8| {
            let mut message = good.clone();
            message[at] = value;
            message
        };
        let longest = [&[63; 192][..], &[61; 62], &[0]].concat();
        assert_eq!(longest.len(), 255);
        assert!(parse(&asked(&longest, A, IN)).is_ok());
        let too_long = [&[63; 192][..], &[62; 63], &[0]].concat();
        let twice = extended(extended(good.clone(), &OPTION), &OPTION);
        let cases = [
            ("no question", with(5, 0), 1),
            ("two questions", with(5, 2), 1),
            ("many questions", with(4, 1), 1),
            ("an answer", with(7, 1), 1),
            ("an authority", with(9, 1), 1),
            ("an additional record that is not there", with(11, 1), 1),
            ("bytes after the question", [&good[..], &[0]].concat(), 1),
            ("a pointer", asked(&[0xc0, 12], A, IN), 1),
            ("a pointer after a label", asked(&[1, b'a', 0xc0, 12], A, IN), 1),
            ("a label of another kind", asked(&[0x41, b'a', 0], A, IN), 1),
            ("a label too long", asked(&[&[64; 65][..], &[0]].concat(), A, IN), 1),
            ("a name too long", asked(&too_long, A, IN), 1),
            ("extensions twice", twice, 1),
            (
                "a record that is none",
                extended(good.clone(), &[0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0]),
                1,
            ),
            ("extensions of a name", extended(good.clone(), &[1, 97, 0, 0, 41]), 1),
            (
                "options that are not there",
                extended(good.clone(), &[0, 0, 41, 2, 0, 0, 0, 0, 0, 0, 9]),
                1,
            ),
            ("an update", with(2, 0x28), 4),
            ("a notice", with(2, 0x20), 4),
            ("an inverse query", with(2, 0x08), 4),
        ];
        for (what, message, code) in cases {
            assert_eq!(code_of(&message), code, "{what}");
        }
        assert_eq!(parse(&with(2, 0x81)), Err(Bad::Silent), "an answer to nobody");
    }

    #[test]
    fn a_question_that_is_cut_off_is_refused_at_every_byte() {
        let message = extended(asked(&labels("www.example.org"), A, IN), &OPTION);
        assert!(parse(&message).is_ok());
        for end in 0..message.len() {
            match parse(&message[..end]) {
                Err(Bad::Silent) => assert!(end < HEADER, "{end}"),
                Err(Bad::Answer(answer)) => {
                    assert_eq!(answer, [0xab, 0xcd, 0x81, 0x81, 0, 0, 0, 0, 0, 0, 0, 0], "{end}");
                }
                Ok(query) => panic!("{end}: {query:?}"),
            }
        }
    }

    #[test]
    fn messages_over_tcp_have_their_length_before_them() {
        let message = asked(&labels("example.org"), A, IN);
        let bytes = framed(&message);
        for end in 0..bytes.len() {
            assert_eq!(frame(&bytes[..end]), Step::More, "{end}");
        }
        let two = [&bytes[..], &bytes].concat();
        assert_eq!(frame(&two), Step::Done(&message[..], bytes.len()));
        assert!(matches!(frame(&[0, 0]), Step::Bad(_)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            let _ = (parse(&bytes), frame(&bytes));
            let mut message = asked(&[], 0, 0);
            message.truncate(HEADER);
            message.extend(bytes);
            if let Ok(query) = parse(&message) {
                prop_assert!(query.name.is_none_or(|name| name == query.shown && name.len() < 254));
            }
        }

        #[test]
        fn a_name_returns_as_it_was_asked_for(
            name in "[a-zA-Z0-9_-]{1,63}(\\.[a-zA-Z0-9_-]{1,40}){0,4}",
            kind: u16,
            class: u16,
            id: [u8; 2],
        ) {
            let mut message = asked(&labels(&name), kind, class);
            message[..2].copy_from_slice(&id);
            let query = parse(&message).unwrap();
            prop_assert_eq!(query.name.as_deref(), Some(&name[..]));
            prop_assert_eq!((query.kind, query.class), (kind, class));
            let answer = query.address(Ipv4Addr::LOCALHOST, 1);
            prop_assert_eq!(&answer[..2], &id);
            prop_assert_eq!(&answer[12..message.len()], &message[12..]);
            prop_assert!(answer.len() <= 512);
        }
    }
}
