use super::*;

fn parse(text: &str) -> Result<Head, Refusal> {
    Head::parse(text.as_bytes())
}

/// Returns what is sent on for a request with these lines.
fn sent(text: &str) -> String {
    let head = parse(text).unwrap_or_else(|refusal| panic!("{text:?}: {}", refusal.detail));
    String::from_utf8(head.write().unwrap()).unwrap()
}

#[test]
fn what_passes_is_written_anew() {
    let cases = [
        // as it came, as it is sent on
        ("GET / HTTP/1.1\r\nHost: a.org\r\n\r\n", "GET / HTTP/1.1\r\nHost: a.org\r\n\r\n"),
        (
            "GET /x?y HTTP/1.1\r\nuser-agent:  x y \t\r\nhOsT:A.ORG.:80\r\n\r\n",
            "GET /x?y HTTP/1.1\r\nHost: a.org:80\r\nuser-agent: x y\r\n\r\n",
        ),
        (
            "POST / HTTP/1.1\r\nHost: a.org\r\nContent-Length: 007\r\nX:\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a.org\r\nX: \r\nContent-Length: 7\r\n\r\n",
        ),
        (
            "POST / HTTP/1.1\r\nHost: a.org\r\nTransfer-Encoding: Chunked\r\nTrailer: X\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a.org\r\nTransfer-Encoding: chunked\r\n\r\n",
        ),
        (
            "GET http://A.org/x HTTP/1.1\r\nHost: a.org\r\nProxy-Authorization: x\r\n\
             Proxy-Connection: keep-alive\r\n\r\n",
            "GET /x HTTP/1.1\r\nHost: a.org\r\n\r\n",
        ),
        (
            "GET http://a.org?x HTTP/1.1\r\nHost: a.org\r\n\r\n",
            "GET /?x HTTP/1.1\r\nHost: a.org\r\n\r\n",
        ),
        (
            "OPTIONS http://a.org HTTP/1.1\r\nHost: a.org\r\n\r\n",
            "OPTIONS * HTTP/1.1\r\nHost: a.org\r\n\r\n",
        ),
        (
            "GET / HTTP/1.0\r\nHost: a.org\r\nConnection: Keep-Alive\r\nKeep-Alive: 5\r\n\r\n",
            "GET / HTTP/1.0\r\nHost: a.org\r\nConnection: keep-alive\r\n\r\n",
        ),
        (
            "GET / HTTP/1.1\r\nHost: a.org\r\nConnection: close, X-Y, TE\r\nx-y: 1\r\n\
             TE: trailers\r\nX-Z: 2\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.org\r\nX-Z: 2\r\nConnection: close\r\n\r\n",
        ),
        (
            "GET / HTTP/1.1\r\nHost: a.org\r\nConnection: keep-alive, Upgrade\r\n\
             Upgrade: WebSocket\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.org\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        ),
        // Nobody turns to anything else.
        (
            "GET / HTTP/1.1\r\nHost: a.org\r\nConnection: Upgrade, HTTP2-Settings\r\n\
             Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.org\r\n\r\n",
        ),
        (
            "GET / HTTP/1.1\r\nHost: a.org\r\nConnection: Upgrade\r\nUpgrade: websocket, h2c\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.org\r\n\r\n",
        ),
        (
            "POST / HTTP/1.1\r\nHost: a.org\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Content-Length: 3\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a.org\r\nContent-Length: 3\r\n\r\n",
        ),
    ];
    for (came, want) in cases {
        assert_eq!(sent(came), want, "{came:?}");
        assert_eq!(sent(want), want, "what is sent is read as it was meant");
    }
}

#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    let control = "POST / HTTP/1.1\r\nHost: a.org\r\nContent-Length: 3\r\nX: y\r\n\r\n";
    assert!(parse(control).is_ok());
    let cases = [
        // first lines
        "POST  / HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "POST / HTTP/1.1 \r\nHost: a.org\r\n\r\n",
        "POST /\tHTTP/1.1\r\nHost: a.org\r\n\r\n",
        " POST / HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "\r\nPOST / HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "POST / HTTP/1.2\r\nHost: a.org\r\n\r\n",
        "POST / HTTP/2.0\r\nHost: a.org\r\n\r\n",
        "POST / http/1.1\r\nHost: a.org\r\n\r\n",
        "POST / HTTP/1.1\r\n\r\nHost: a.org\r\n\r\n",
        "POST /\r\nHost: a.org\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\n",
        "GET * HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET ftp://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET http:/a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET http://u@a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET http://a.org\\@b.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET http://a.org#@b.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET http:///x HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET /\u{a0}x HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "CONNECT a.org HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "CONNECT http://a.org:443/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "TRACE / HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG / HTTP/1.1\r\nHost: a.org\r\n\r\n",
        // lines
        "GET / HTTP/1.1\nHost: a.org\n\n",
        "GET / HTTP/1.1\r\nHost: a.org\nX: y\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.org\rX: y\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.org\r\n X: y\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.org\r\n\tX: y\r\n\r\n",
        "GET / HTTP/1.1\r\n Host: a.org\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.org\r\nX: y\0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.org\r\nX: y\x0b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.org\r\nX: y\x7f\r\n\r\n",
        // headers
        "GET / HTTP/1.1\r\nHost : a.org\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.org\r\nX\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.org\r\n: y\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.org\r\nX y: z\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.org\r\nX(y: z\r\n\r\n",
        // hosts
        "GET / HTTP/1.1\r\nHost: a.org\r\nHost: a.org\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.org\r\nhost: b.org\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.org, b.org\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.org b.org\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.org@b.org\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.org/b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost:\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: http://a.org\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: 0x7f000001\r\n\r\n",
        // lengths
        "POST / HTTP/1.1\r\nHost: a.org\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.org\r\nContent-Length: 3, 3\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.org\r\nContent-Length: +3\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.org\r\nContent-Length: -3\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.org\r\nContent-Length: 0x3\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.org\r\nContent-Length: 3 3\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.org\r\nContent-Length:\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.org\r\nContent-Length: 18446744073709551616\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.org\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.org\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.org\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.org\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.org\r\nTransfer-Encoding: chunked, identity\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.org\r\nTransfer-Encoding: xchunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.org\r\nTransfer-Encoding: \"chunked\"\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.org\r\nTransfer-Encoding: identity\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.org\r\nTransfer-Encoding:\r\n\r\n",
        "POST / HTTP/1.0\r\nHost: a.org\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.org\r\nTransfer_Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.org\r\nContent_Length: 3\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.org\r\nProxy-Authorization: a\r\nProxy-Authorization: b\r\n\r\n",
        // taking away what was judged
        "GET / HTTP/1.1\r\nHost: a.org\r\nConnection: host\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a.org\r\nConnection: Content-Length\r\nContent-Length: 3\r\n\r\n",
    ];
    for text in cases {
        assert!(parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_head_has_limits() {
    let with = |count: usize, value: usize| {
        let lines = format!("X: {}\r\n", "y".repeat(value)).repeat(count);
        parse(&format!("GET / HTTP/1.1\r\nHost: a.org\r\n{lines}\r\n"))
    };
    assert!(with(99, 1).is_ok());
    assert!(with(100, 1).is_err());
    assert!(with(1, 60_000).is_ok());
    assert!(with(1, 70_000).is_err());
}

#[test]
fn the_end_of_a_head_is_found_as_it_comes() {
    let text = b"GET / HTTP/1.1\r\nHost: a.org\r\n\r\nGET /2";
    let whole = text.len() - 6;
    for cut in 0..text.len() {
        for seen in 0..=cut.min(whole - 1) {
            let found = end(&text[..cut], seen).unwrap();
            assert_eq!(found, (cut >= whole).then_some(whole), "{cut} {seen}");
        }
    }
    for bad in ["GET / HTTP/1.1\n", "\n", "GET /\rx", "GET /\0", "a: b\r\n\n", "\r\r\n"] {
        assert!(end(bad.as_bytes(), 0).is_err(), "{bad:?}");
    }
}

#[test]
fn a_header_that_was_changed_cannot_end_its_line() {
    let mut head = parse("GET / HTTP/1.1\r\nHost: a.org\r\nX: y\r\n\r\n").unwrap();
    head.headers[0].value = b"y\r\nHost: b.org".to_vec();
    assert!(head.write().is_err());
    head.headers[0].value = b"caf\xe9".to_vec();
    assert!(head.write().is_ok());
}

#[test]
fn a_connect_is_read_and_never_sent_on() {
    let head = parse("CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: a.org\r\n\r\n").unwrap();
    assert!(matches!(&head.form, Form::Authority(site) if site.to_string() == "[2001:db8::1]:443"));
    assert!(head.write().is_err());
}

#[test]
fn the_last_request_of_a_connection_is_known() {
    let last = |version: &str, connection: &str| {
        let text = format!("GET / {version}\r\nHost: a.org\r\n{connection}\r\n");
        parse(&text).unwrap().is_last()
    };
    assert!(!last("HTTP/1.1", ""));
    assert!(!last("HTTP/1.1", "Connection: keep-alive\r\n"));
    assert!(last("HTTP/1.1", "Connection: close\r\n"));
    assert!(last("HTTP/1.1", "Connection: keep-alive, Close\r\n"));
    assert!(last("HTTP/1.0", ""));
    assert!(!last("HTTP/1.0", "Connection: keep-alive\r\n"));
}
