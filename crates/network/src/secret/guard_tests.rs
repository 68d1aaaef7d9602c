use zonekeep_policy::hosts::HostPattern;

use super::*;

fn to(destination: &str) -> Destination {
    Destination::parse(destination).unwrap()
}

fn secret(name: &str, value: &str, hosts: &[&str], header: &str) -> Secret {
    let hosts = hosts.iter().map(|host| HostPattern::parse(host).unwrap()).collect();
    Secret::new(name, value.to_owned(), hosts, header).unwrap()
}

/// Two secrets of one host, and one of this machine.
fn secrets() -> Arc<Secrets> {
    Arc::new(Secrets::new(vec![
        secret("KEY", "the-value", &["api.test", "*.api.test:8443"], "Authorization"),
        secret("OTHER", "another-value", &["api.test"], "X-Key"),
        secret("LOCAL", "local-value", &["localhost:5000"], "Authorization"),
    ]))
}

/// Fills in `KEY`, `OTHER` and `LOCAL` as placeholders.
fn filled(secrets: &Secrets, text: &str) -> String {
    let fill = |text: String, secret: &Secret| {
        text.replace(&format!("<{}>", secret.name()), secret.placeholder())
    };
    secrets.all.iter().fold(text.to_owned(), fill)
}

fn head(lines: &str) -> Head {
    let text = format!("GET {lines}\r\nHost: api.test\r\n\r\n");
    let (first, rest) = text.split_once("\r\n").unwrap();
    Head::parse(format!("{first} HTTP/1.1\r\n{rest}").as_bytes()).unwrap()
}

fn value(head: &Head, name: &str) -> Option<String> {
    let header = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
    Some(String::from_utf8(header.value.clone()).unwrap())
}

fn checked(destination: &str, wire: Wire, lines: &str) -> Result<Head, Refusal> {
    let secrets = secrets();
    let mut head = head(&filled(&secrets, lines));
    secrets.heads(&to(destination), wire).check(&mut head).map(|()| head)
}

#[test]
fn the_value_goes_to_its_hosts_in_its_header() {
    let cases = [
        ("api.test", Wire::Tls, "/\r\nAuthorization: Bearer <KEY>", "Bearer the-value"),
        ("api.test", Wire::Tls, "/\r\nauthorization: <KEY>", "the-value"),
        ("api.test", Wire::Tls, "/\r\nAuthorization: token <KEY> ", "token the-value"),
        ("api.test", Wire::Tls, "/\r\nAuthorization: Token token=<KEY>", "Token token=the-value"),
        ("api.test", Wire::Tls, "/\r\nAuthorization: Basic <KEY>", "Basic the-value"),
        ("x.api.test:8443", Wire::Tls, "/\r\nAuthorization: <KEY>", "the-value"),
        ("localhost:5000", Wire::Plain, "/\r\nAuthorization: bearer <LOCAL>", "bearer local-value"),
        ("localhost:5000", Wire::Tls, "/\r\nAuthorization: <LOCAL>", "local-value"),
    ];
    for (destination, wire, lines, want) in cases {
        let head = checked(destination, wire, lines).unwrap();
        assert_eq!(value(&head, "authorization").as_deref(), Some(want), "{destination} {lines}");
    }
    let both = "/\r\nAuthorization: <KEY>\r\nX-Key: <OTHER>\r\nX-Else: else";
    let head = checked("api.test", Wire::Tls, both).unwrap();
    assert_eq!(value(&head, "authorization").as_deref(), Some("the-value"));
    assert_eq!(value(&head, "x-key").as_deref(), Some("another-value"));
    assert_eq!(value(&head, "x-else").as_deref(), Some("else"));
}

#[test]
fn a_name_and_a_password_are_taken_apart() {
    let secrets = secrets();
    for (text, want) in [
        ("user:<KEY>", "user:the-value"),
        ("x-access-token:<KEY>", "x-access-token:the-value"),
        ("$oauthtoken:<KEY>", "$oauthtoken:the-value"),
        ("me@a.test:<KEY>", "me@a.test:the-value"),
        (":<KEY>", ":the-value"),
        ("<KEY>:", "the-value:"),
        ("<KEY>:x-oauth-basic", "the-value:x-oauth-basic"),
    ] {
        let encoded = STANDARD.encode(filled(&secrets, text));
        for encoded in [encoded.as_str(), encoded.trim_end_matches('=')] {
            for scheme in ["Basic", "basic"] {
                let mut head = head(&format!("/\r\nAuthorization: {scheme} {encoded}"));
                secrets.heads(&to("api.test"), Wire::Tls).check(&mut head).unwrap();
                let want = format!("{scheme} {}", STANDARD.encode(want));
                assert_eq!(value(&head, "authorization"), Some(want), "{text}");
            }
        }
    }
}

/// A host that quotes a part of the header must not be led to quote a chosen part of
/// the value.
#[test]
fn nothing_that_a_command_chooses_stands_beside_a_value() {
    let long = "a".repeat(65);
    let texts = [
        "a <KEY>",
        "aaaaaaaa<KEY>",
        "<KEY>a",
        "<KEY>,",
        "<KEY> <KEY>",
        "<KEY><KEY>",
        "Bearer a<KEY>",
        "Bearer <KEY>a",
        "Bearer  <KEY>",
        "Bearer\t<KEY>",
        "Bearer, <KEY>",
        "Bearer <KEY>, x",
        "Digest username=\"<KEY>\"",
        "x Bearer <KEY>",
        "\"<KEY>\"",
    ];
    for text in texts {
        let lines = format!("/\r\nAuthorization: {text}");
        let refusal = checked("api.test", Wire::Tls, &lines).unwrap_err();
        assert_eq!(refusal.reason, Reason::Secret, "{text}");
        assert!(refusal.detail.starts_with("the secret KEY has to stand alone"), "{text}");
    }
    let secrets = secrets();
    for text in [
        "a:<KEY>b",
        "ab:<KEY><KEY>",
        "a b:<KEY>",
        "a:b:<KEY>",
        "<KEY>:password",
        "<KEY>",
        "a<KEY>:",
        "\n:<KEY>",
        &format!("{long}:<KEY>"),
    ] {
        let encoded = STANDARD.encode(filled(&secrets, text));
        let mut head = head(&format!("/\r\nAuthorization: Basic {encoded}"));
        let refusal = secrets.heads(&to("api.test"), Wire::Tls).check(&mut head).unwrap_err();
        assert_eq!(refusal.reason, Reason::Secret, "{text:?}");
        assert!(refusal.detail.starts_with("the secret KEY has to stand alone"), "{text:?}");
    }
    // Servers join several headers of one name.
    for more in ["Authorization: aaaa", "AUTHORIZATION: Bearer <KEY>", "authorization:"] {
        for lines in [
            format!("/\r\nAuthorization: Bearer <KEY>\r\n{more}"),
            format!("/\r\n{more}\r\nAuthorization: Bearer <KEY>"),
        ] {
            let refusal = checked("api.test", Wire::Tls, &lines).unwrap_err();
            assert_eq!(refusal.reason, Reason::Secret, "{lines}");
        }
    }
    let joined = "/\r\nX_Key: aaaa\r\nX-Key: <OTHER>";
    assert!(checked("api.test", Wire::Tls, joined).is_err());
    // Without a placeholder, headers are the command's own affair.
    let own = "/\r\nAuthorization: a\r\nAuthorization: b";
    assert!(checked("api.test", Wire::Tls, own).is_ok());
}

#[test]
fn a_placeholder_anywhere_else_is_stopped() {
    let basic = |text: &str| {
        let secrets = secrets();
        let encoded = STANDARD.encode(filled(&secrets, text));
        let mut head = head(&format!("/\r\nAuthorization: Basic {encoded}"));
        secrets.heads(&to("other.test"), Wire::Tls).check(&mut head).unwrap_err()
    };
    let cases = [
        ("another host", "other.test", Wire::Tls, "/\r\nAuthorization: <KEY>"),
        ("another port", "api.test:8443", Wire::Tls, "/\r\nAuthorization: <KEY>"),
        ("the name above", "api.test:8443", Wire::Tls, "/\r\nAuthorization: <KEY>"),
        ("without TLS", "api.test:80", Wire::Plain, "/\r\nAuthorization: <KEY>"),
        ("of this machine, to another", "api.test", Wire::Tls, "/\r\nAuthorization: <LOCAL>"),
        ("another header", "api.test", Wire::Tls, "/\r\nX-Other: <KEY>"),
        ("the header of another", "api.test", Wire::Tls, "/\r\nX-Key: <KEY>"),
        ("beside the right one", "api.test", Wire::Tls, "/\r\nAuthorization: <KEY> <OTHER>"),
        ("a path", "api.test", Wire::Tls, "/<KEY>"),
        ("a query", "api.test", Wire::Tls, "/?key=<KEY>&x"),
        ("a cookie", "api.test", Wire::Tls, "/\r\nCookie: a=<KEY>"),
        ("the name of a header", "api.test", Wire::Tls, "/\r\n<KEY>: a"),
        ("another host's cookie", "other.test:80", Wire::Plain, "/\r\nCookie: a=<LOCAL>"),
    ];
    for (what, destination, wire, lines) in cases {
        let refusal = checked(destination, wire, lines).unwrap_err();
        assert_eq!(refusal.reason, Reason::Secret, "{what}");
        assert!(!refusal.detail.contains("value"), "{what}: {}", refusal.detail);
    }
    assert_eq!(basic("u:<KEY>").reason, Reason::Secret);
    assert_eq!(basic("us:<KEY>").reason, Reason::Secret);
    assert_eq!(basic("use:<KEY>").reason, Reason::Secret);

    let secrets = secrets();
    let escaped = secrets.all[0].placeholder().replace("zone", "%7Aone").replace('-', "%2d");
    let mut head = head(&format!("/{escaped}"));
    let refusal = secrets.heads(&to("api.test"), Wire::Tls).check(&mut head).unwrap_err();
    assert_eq!(
        refusal.detail,
        "the secret KEY does not belong in the address of a request: it is only sent \
         in the header Authorization to api.test, *.api.test:8443, over TLS"
    );
}

#[test]
fn bodies_and_other_streams_are_searched() {
    let secrets = secrets();
    let body = filled(&secrets, r#"{"a": "<KEY>"}"#);
    let encoded = STANDARD.encode(&body);
    for body in [body.as_bytes(), encoded.as_bytes()] {
        for mut look in [secrets.heads(&to("api.test"), Wire::Tls), secrets.scan()] {
            for size in 1..body.len() {
                let found = body.chunks(size).any(|part| look.outgoing(part).is_err());
                assert!(found, "{size}");
            }
        }
    }
    // A new request starts anew, and what is like a placeholder is none.
    let placeholder = secrets.all[0].placeholder();
    let mut look = secrets.heads(&to("api.test"), Wire::Tls);
    look.outgoing(&placeholder.as_bytes()[..30]).unwrap();
    look.check(&mut head("/")).unwrap();
    look.outgoing(&placeholder.as_bytes()[30..]).unwrap();
    look.outgoing(b"zonekeep-secret-key-00000000000000000000000000000000").unwrap();
}

#[test]
fn answers_that_may_have_a_value_are_asked_for_whole_and_readable() {
    let lines = "/\r\naccept-encoding: gzip\r\nAccept-Encoding: br\r\nRange: bytes=0-9\r\n\
                 If-Range: x\r\nAccept_Encoding: gzip\r\nRequest-Range: bytes=0-9\r\n\
                 A-IM: gzip\r\nSec-WebSocket-Extensions: permessage-deflate";
    let names = |head: &Head| {
        head.headers.iter().map(|header| header.name.clone()).collect::<Vec<String>>().join(" ")
    };
    // The value may have been sent before, and on another connection.
    for (destination, wire) in [
        ("api.test", Wire::Tls),
        ("api.test:80", Wire::Plain),
        ("localhost:5000", Wire::Plain),
        ("x.api.test:8443", Wire::Plain),
    ] {
        let head = checked(destination, wire, lines).unwrap();
        assert_eq!(names(&head), "Accept-Encoding", "{destination}");
        assert_eq!(value(&head, "accept-encoding").as_deref(), Some("identity"), "{destination}");
    }
    let with_value = format!("{lines}\r\nAuthorization: <KEY>");
    let head = checked("api.test", Wire::Tls, &with_value).unwrap();
    assert_eq!(names(&head), "Authorization Accept-Encoding");
    for (destination, wire) in [("other.test", Wire::Tls), ("x.api.test:80", Wire::Plain)] {
        let head = checked(destination, wire, lines).unwrap();
        assert_eq!(head.headers.len(), 8, "{destination}");
    }
}

#[test]
fn a_body_is_the_end_of_a_connection_to_a_host_of_secrets() {
    let body = "/\r\nContent-Length: 4";
    for (destination, lines, last) in [
        ("api.test", body, true),
        ("api.test", "/\r\nContent-Length: 0", false),
        ("api.test", "/", false),
        ("other.test", body, false),
    ] {
        let head = checked(destination, Wire::Tls, lines).unwrap();
        assert_eq!(head.is_last(), last, "{destination} {lines:?}");
    }
}

#[test]
fn tls_is_ended_and_answers_are_masked_for_hosts_of_secrets_alone() {
    let secrets = secrets();
    for (destination, ends, masks) in [
        ("api.test", true, true),
        ("x.api.test:8443", true, true),
        ("x.api.test", false, false),
        ("api.test:8443", false, false),
        ("other.test", false, false),
        ("localhost:5000", true, true),
        ("localhost:5001", false, false),
    ] {
        assert_eq!(secrets.ends_tls(&to(destination)), ends, "{destination}");
        assert_eq!(secrets.mask(&to(destination)).is_some(), masks, "{destination}");
    }
    let none = Arc::new(Secrets::new(vec![]));
    assert!(none.is_empty() && !none.ends_tls(&to("api.test")));
    none.scan().outgoing(b"zonekeep-secret-").unwrap();
}
