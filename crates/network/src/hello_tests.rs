use std::sync::Arc;

use proptest::prelude::*;
use rustls::crypto::SupportedKxGroup;
use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, SupportedProtocolVersion};

use super::*;

/// A hello message of its parts, each with the length that belongs to it.
fn hello_with(extensions: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut listed = Vec::new();
    for (kind, value) in extensions {
        listed.extend(kind.to_be_bytes());
        listed.extend(long(value));
    }
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0]); // no session
    body.extend(long(&[0x13, 0x01, 0xc0, 0x2f]));
    body.extend([1, 0]); // no compression
    body.extend(long(&listed));
    handshake(&body)
}

fn handshake(body: &[u8]) -> Vec<u8> {
    let mut message = (body.len() as u32).to_be_bytes().to_vec();
    message[0] = CLIENT_HELLO;
    message.extend(body);
    message
}

fn long(value: &[u8]) -> Vec<u8> {
    [&(value.len() as u16).to_be_bytes(), value].concat()
}

fn named(name: &[u8]) -> (u16, Vec<u8>) {
    (SERVER_NAME, long(&[&[0], &long(name)[..]].concat()))
}

fn records(message: &[u8], size: usize) -> Vec<u8> {
    message.chunks(size).flat_map(|part| [&[HANDSHAKE, 3, 1], &long(part)[..]].concat()).collect()
}

fn one_record(message: &[u8]) -> Vec<u8> {
    records(message, MAX_FRAGMENT)
}

fn plain() -> Vec<u8> {
    one_record(&hello_with(&[(10, vec![0, 2, 0, 29]), named(b"example.org")]))
}

fn is_bad(bytes: &[u8]) -> bool {
    matches!(parse(bytes), Step::Bad(_))
}

/// What the client of another author sends first.
fn made_by_rustls(
    name: &str,
    versions: &[&'static SupportedProtocolVersion],
    protocols: &[&[u8]],
) -> Vec<u8> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut sent = Vec::new();
    client.write_tls(&mut sent).unwrap();
    sent
}

#[test]
fn the_name_that_a_real_client_asks_for_is_found() {
    use rustls::version::{TLS12, TLS13};
    for versions in [&[&TLS12][..], &[&TLS13], &[&TLS12, &TLS13]] {
        for name in ["example.org", "a.b-c.example.test", "xn--bcher-kva.example", "x.test"] {
            let protocols: &[&[u8]] = &[b"h2", b"http/1.1"];
            let sent = made_by_rustls(name, versions, protocols);
            let want = Hello {
                name: Some(name.to_owned()),
                encrypted: false,
                protocols: protocols.iter().map(|protocol| protocol.to_vec()).collect(),
            };
            assert_eq!(parse(&sent), Step::Done(want, sent.len()), "{name}");
        }
        let sent = made_by_rustls("192.0.2.1", versions, &[]);
        let none = Hello { name: None, encrypted: false, protocols: vec![] };
        assert_eq!(parse(&sent), Step::Done(none, sent.len()));
    }
}

#[test]
fn a_hello_is_the_same_however_it_is_cut() {
    let message = hello_with(&[named(b"Example.org")]);
    let whole = parse(&one_record(&message));
    let Step::Done(whole, _) = whole else { panic!("{whole:?}") };
    assert_eq!(whole.name.as_deref(), Some("Example.org"));
    for size in 2..message.len() {
        let cut = records(&message, size);
        assert_eq!(parse(&cut), Step::Done(whole.clone(), cut.len()), "{size}");
        for end in 0..cut.len() {
            assert_eq!(parse(&cut[..end]), Step::More, "{size} until {end}");
        }
        let with_early_data = [&cut[..], &[23, 3, 3, 0, 1, 9]].concat();
        assert_eq!(parse(&with_early_data), Step::Done(whole.clone(), cut.len()), "{size}");
    }
    assert!(is_bad(&records(&message, 1)), "too many pieces");
}

#[test]
fn what_two_readers_could_understand_differently_is_refused() {
    let name = named(b"example.org");
    let extension = |kind, value: &[u8]| one_record(&hello_with(&[(kind, value.to_vec())]));
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("two names", extension(0, &long(&[0, 0, 1, b'a', 0, 0, 1, b'b']))),
        ("another kind of name", extension(0, &long(&[1, 0, 1, b'a']))),
        ("a name of another kind as well", extension(0, &long(&[0, 0, 1, b'a', 1, 0, 1, b'b']))),
        ("no name in the list", extension(0, &long(&[]))),
        ("no list", extension(0, &[])),
        ("an empty name", extension(0, &long(&[0, 0, 0]))),
        ("bytes after the name", extension(0, &long(&[0, 0, 1, b'a', 0]))),
        ("bytes after the list", extension(0, &[&long(&[0, 0, 1, b'a'])[..], &[0]].concat())),
        ("a list that is too long", extension(0, &[0, 5, 0, 0, 1, b'a'])),
        ("a NUL in the name", one_record(&hello_with(&[named(b"a\0b")]))),
        ("a blank in the name", one_record(&hello_with(&[named(b"a b")]))),
        ("a line end in the name", one_record(&hello_with(&[named(b"a\nb")]))),
        ("a name that is not ASCII", one_record(&hello_with(&[named("é.test".as_bytes())]))),
        ("a long name", one_record(&hello_with(&[named(&[b'a'; 256])]))),
        ("the name twice", one_record(&hello_with(&[name.clone(), name.clone()]))),
        ("an extension twice", one_record(&hello_with(&[(5, vec![]), name.clone(), (5, vec![])]))),
        ("an empty protocol", extension(16, &long(&[0]))),
        ("no protocol", extension(16, &long(&[]))),
        ("a protocol too long", extension(16, &long(&[3, b'h', b'2']))),
        ("too many protocols", extension(16, &long(&[1, b'h'].repeat(33)))),
        (
            "too many extensions",
            one_record(&hello_with(&(100..300).map(|kind| (kind, vec![])).collect::<Vec<_>>())),
        ),
        ("SSL 2", vec![0x80, 0x2e, 1, 3, 1, 0, 0x15, 0, 0, 0, 0x10]),
        ("HTTP", b"GET / HTTP/1.1\r\n".to_vec()),
        ("an alert", vec![21, 3, 1, 0, 2, 1, 0]),
        ("early data", vec![23, 3, 1, 0, 2, 1, 0]),
        ("an unknown major version", vec![22, 2, 0]),
        ("an unknown minor version", vec![22, 3, 4]),
        ("an empty record", vec![22, 3, 1, 0, 0]),
        ("a record too long", vec![22, 3, 1, 0x40, 1]),
        ("another message", vec![22, 3, 1, 0, 4, 2]),
        ("a message too long", vec![22, 3, 1, 0, 4, 1, 1, 0, 0]),
        ("a second message", {
            let hello = hello_with(std::slice::from_ref(&name));
            one_record(&[&hello[..], &hello].concat())
        }),
    ];
    for (what, bytes) in cases {
        assert!(is_bad(&bytes), "{what}: {:?}", parse(&bytes));
    }
}

#[test]
fn nothing_may_come_between_the_records_of_a_hello() {
    let message = hello_with(&[named(b"example.org")]);
    let (first, second) = message.split_at(40);
    let good = [one_record(first), one_record(second)].concat();
    assert!(matches!(parse(&good), Step::Done(..)));
    for (what, between) in [
        ("an alert", vec![21, 3, 3, 0, 2, 1, 0]),
        ("a change of ciphers", vec![20, 3, 3, 0, 1, 1]),
        ("data", vec![23, 3, 3, 0, 1, 1]),
        ("an empty record", vec![22, 3, 3, 0, 0]),
    ] {
        assert!(is_bad(&[one_record(first), between, one_record(second)].concat()), "{what}");
    }
}

#[test]
fn each_wrong_length_is_refused_and_never_read_as_another_name() {
    let good = plain();
    let Step::Done(want, _) = parse(&good) else { panic!("not read") };
    let mut refused = 0;
    for at in 0..good.len() {
        for change in [1, 2, 0x10, 0x80, 0xff] {
            let mut bytes = good.clone();
            bytes[at] ^= change;
            match parse(&bytes) {
                Step::Done(hello, used) => {
                    assert_eq!(used, good.len());
                    // A changed byte inside the name, or the kind of its extension.
                    let same = hello.name.as_ref().is_none_or(|name| name.len() == 11);
                    assert!(same && hello.protocols == want.protocols, "{at}: {hello:?}");
                }
                Step::More => {}
                Step::Bad(_) => refused += 1,
            }
        }
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn a_hidden_name_is_told_and_absent_names_are_absent() {
    for kind in ENCRYPTED {
        let sent = one_record(&hello_with(&[named(b"example.org"), (kind, vec![0, 1])]));
        let Step::Done(hello, _) = parse(&sent) else { panic!("{kind}") };
        assert!(hello.encrypted, "{kind:#x}");
    }
    let Step::Done(hello, _) = parse(&one_record(&hello_with(&[]))) else { panic!("not read") };
    assert_eq!((hello.name, hello.encrypted), (None, false));

    // Without any list of extensions, as old clients are.
    let mut message = hello_with(&[]);
    message.truncate(message.len() - 2);
    message[3] -= 2;
    let Step::Done(hello, _) = parse(&one_record(&message)) else { panic!("not read") };
    assert_eq!(hello.name, None);
}

#[test]
fn a_long_hello_is_read_and_a_longer_one_refused() {
    let filled = |length| hello_with(&[(21, vec![0; length]), named(b"example.org")]);
    let long = one_record(&filled(60_000));
    assert!(matches!(parse(&long), Step::Done(hello, _) if hello.name.is_some()));
    for end in (0..long.len()).step_by(97) {
        assert_eq!(parse(&long[..end]), Step::More, "{end}");
    }
    let longer = one_record(&filled(65_500));
    assert!(is_bad(&longer));
    assert!(is_bad(&longer[..9]), "told by its header alone");
}

/// What a server of another author answers to a hello.
fn answered_by_rustls(hello: &[u8], groups: &[&'static dyn SupportedKxGroup]) -> Vec<u8> {
    let key = rcgen::generate_simple_self_signed(["example.org".to_owned()]).unwrap();
    let mut provider = rustls::crypto::ring::default_provider();
    provider.kx_groups = groups.to_vec();
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![key.cert.der().clone()],
            PrivatePkcs8KeyDer::from(key.signing_key.serialize_der()).into(),
        )
        .unwrap();
    let mut server = rustls::ServerConnection::new(Arc::new(config)).unwrap();
    server.read_tls(&mut &hello[..]).unwrap();
    server.process_new_packets().unwrap();
    let mut sent = Vec::new();
    server.write_tls(&mut sent).unwrap();
    sent
}

#[test]
fn a_server_that_wants_another_hello_is_recognised() {
    use rustls::crypto::ring::kx_group::{SECP256R1, X25519};
    let hello = made_by_rustls("example.org", &[&rustls::version::TLS13], &[]);
    for (groups, want) in [(&[X25519][..], false), (&[SECP256R1], true)] {
        let answer = answered_by_rustls(&hello, groups);
        assert_eq!(retried(&answer), Step::Done(want, 0));
        let mut told = false;
        for end in 0..answer.len() {
            match retried(&answer[..end]) {
                Step::More => assert!(!told, "{end}"),
                step => {
                    told = true;
                    assert_eq!(step, Step::Done(want, 0), "{end}");
                }
            }
        }
        let first = 5 + usize::from(u16::from_be_bytes([answer[3], answer[4]]));
        assert_eq!(retried(&records(&answer[5..first], 3)), Step::Done(want, 0));
    }
    let hello = made_by_rustls("example.org", &[&rustls::version::TLS12], &[]);
    assert_eq!(retried(&answered_by_rustls(&hello, &[SECP256R1])), Step::Done(false, 0));
    assert_eq!(retried(&[21, 3, 3, 0, 2, 2, 40]), Step::Done(false, 0));
    assert_eq!(retried(b"HTTP/1.1 400 Bad Request"), Step::Done(false, 0));
}

#[test]
fn a_second_hello_is_read_after_what_may_come_before_it() {
    let second = one_record(&hello_with(&[named(b"other.test")]));
    let change = [20, 3, 3, 0, 1, 1];
    let early = [&[23, 3, 3][..], &long(&[9; 300])].concat();
    for before in [vec![], change.to_vec(), early.clone(), [&early[..], &change, &early].concat()] {
        let bytes = [&before[..], &second].concat();
        let Step::Done(hello, used) = again(&bytes) else { panic!("{before:?}") };
        assert_eq!((hello.name.as_deref(), used), (Some("other.test"), bytes.len()));
        for end in 0..bytes.len() {
            assert_eq!(again(&bytes[..end]), Step::More, "{end}");
        }
    }
    assert!(matches!(again(&[21, 3, 3, 0, 2, 1, 0]), Step::Bad(_)));
    assert!(matches!(again(b"GET /"), Step::Bad(_)));
    assert!(matches!(again(&early.repeat(300)), Step::Bad(_)));
}

#[test]
fn the_start_tells_tls_from_others() {
    let cases: [(&[u8], Option<bool>); 12] = [
        (b"", None),
        (&[22], None),
        (&[22, 3], Some(true)),
        (&[22, 4], Some(false)),
        (b"GET", Some(false)),
        (b"SSH-2.0", Some(false)),
        (&[0x80, 0x2e], None),
        (&[0x80, 0x2e, 1], None),
        (&[0x80, 0x2e, 2], Some(false)),
        (&[0x80, 0x2e, 1, 3], Some(true)),
        (&[0x80, 0x2e, 1, 0], Some(true)),
        (&[0x85, 0xa6, 0xff, 1], Some(false)),
    ];
    for (bytes, want) in cases {
        assert_eq!(starts(bytes), want, "{bytes:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = (parse(&bytes), retried(&bytes), again(&bytes), starts(&bytes));
        let _ = parse(&[&[HANDSHAKE, 3, 1][..], &bytes].concat());
        let _ = parse(&one_record(&handshake(&bytes)));
    }

    /// Once refused, no further byte makes it good; once read, none changes it.
    #[test]
    fn the_answer_stays(at in 0usize..90, value: u8, size in 2usize..100) {
        let mut message = hello_with(&[named(b"example.org"), (43, vec![2, 3, 4])]);
        let at = at % message.len();
        message[at] = value;
        let bytes = records(&message, size);
        let mut last = Step::More;
        for end in 0..=bytes.len() {
            let step = parse(&bytes[..end]);
            if last != Step::More {
                prop_assert_eq!(&step, &last);
            }
            last = step;
        }
    }

    #[test]
    fn a_name_is_found_among_other_extensions(
        name in "[!-~]{1,255}",
        others in prop::collection::btree_map(
            1u16..0xfd00, prop::collection::vec(any::<u8>(), 0..40), 0..20),
        place in 0usize..21,
        size in 50usize..20_000,
    ) {
        let mut all: Vec<(u16, Vec<u8>)> =
            others.into_iter().filter(|(kind, _)| *kind != PROTOCOLS).collect();
        all.insert(place.min(all.len()), named(name.as_bytes()));
        let bytes = records(&hello_with(&all), size);
        let want = Hello { name: Some(name), encrypted: false, protocols: vec![] };
        prop_assert_eq!(parse(&bytes), Step::Done(want, bytes.len()));
    }
}
