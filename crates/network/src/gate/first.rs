//! What a client speaks, told by its first bytes.
//!
//! What a server might read as HTTP must not pass for something else, or nobody
//! would look at the host that it names. Servers read first lines in many ways:
//! some split them at every byte that is a blank in some alphabet, some let a NUL
//! pass, some need no version. So a line with a version is HTTP whatever else it
//! has, and where the beginning could be a method's name, the line's end is
//! waited for.

use crate::hello;

/// What the first bytes of a client begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    /// A TLS hello.
    Tls,
    /// A request, or what some server might take for one.
    Http,
    /// Neither.
    Other,
}

/// Returns what a client speaks, or `None` while more bytes are needed to tell.
pub(crate) fn tell(bytes: &[u8]) -> Option<First> {
    if bytes.is_empty() {
        return None;
    }
    // Servers may take other records of TLS before a hello, so those are TLS too;
    // what reads hellos refuses them.
    match bytes {
        [20..=24] => return None,
        [20..=24, 3, ..] => return Some(First::Tls),
        _ => {}
    }
    match hello::starts(bytes) {
        Some(true) => return Some(First::Tls),
        Some(false) => {}
        None => return None,
    }
    match read(bytes) {
        Line::Http => Some(First::Http),
        Line::Other | Line::Odd => Some(First::Other),
        Line::Open => None,
    }
}

/// Returns what a client speaks that says nothing more.
pub(crate) fn tell_whole(bytes: &[u8]) -> First {
    match tell(bytes) {
        Some(first) => first,
        None if has_version(bytes) || is_ancient(bytes) => First::Http,
        None => First::Other,
    }
}

/// What the first line looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    Http,
    /// No server takes it for HTTP, whatever follows.
    Other,
    /// Hardly any server does, and only if a version follows in the line.
    Odd,
    /// It may become anything.
    Open,
}

/// The methods that every server knows.
const METHODS: [&[u8]; 7] = [b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"PATCH"];

/// How PROXY begins, which some servers expect before a request, in both forms.
const PROXY: &[u8] = b"PROXY ";
const PROXY_2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// Reads a first line, as far as it is there.
pub(super) fn read(bytes: &[u8]) -> Line {
    // Whatever they announce is for a server that looks behind them.
    if bytes.starts_with(PROXY) || bytes.starts_with(PROXY_2) {
        return Line::Http;
    }
    if PROXY_2.starts_with(bytes) {
        return Line::Open;
    }
    let Some(start) = bytes.iter().position(|&byte| !is_blank(byte)) else { return Line::Open };
    let text = &bytes[start..];
    let end = text.iter().position(|&byte| byte == b'\n');
    let line = &text[..end.unwrap_or(text.len())];
    let word = line.iter().position(|&byte| is_blank(byte)).unwrap_or(line.len());
    let (word, rest) = line.split_at(word);
    if word.iter().any(|&byte| byte.is_ascii_graphic() && !is_token(byte)) {
        return Line::Other;
    }
    if has_version(line) || is_ancient(line) {
        return Line::Http;
    }
    let nul = rest.contains(&0) && !METHODS.contains(&word);
    let odd = nul || !word.iter().all(|&byte| is_token(byte));
    match end {
        Some(_) => Line::Other,
        None if odd => Line::Odd,
        None => Line::Open,
    }
}

/// Returns whether a version of HTTP is named.
pub(super) fn has_version(line: &[u8]) -> bool {
    line.windows(5).any(|five| five.eq_ignore_ascii_case(b"HTTP/"))
}

/// Returns whether a line is a request of the first HTTP, which had no version. A
/// whole address in it says a host even so.
fn is_ancient(line: &[u8]) -> bool {
    const METHODS: [&[u8]; 7] = [b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"PATCH"];
    let Some(start) = line.iter().position(|&byte| !is_blank(byte)) else { return false };
    let word = line[start..].split(|&byte| is_blank(byte)).next().unwrap_or_default();
    let rest = &line[start + word.len()..];
    METHODS.contains(&word) && rest.windows(3).any(|three| three == b"://")
        || word == b"GET" && rest.contains(&b'/')
}

/// Returns whether some server takes a byte for a blank.
fn is_blank(byte: u8) -> bool {
    matches!(byte, 0x09..=0x0d | 0x1c..=0x20 | 0x85 | 0xa0)
}

/// Returns whether a byte may stand in the name of a method.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_tell_what_is_spoken() {
        let cases: [(&[u8], Option<First>); 47] = [
            (b"", None),
            (b"\x16", None),
            (b"\x16\x03\x01", Some(First::Tls)),
            (b"\x15", None),
            (b"\x15\x03\x01\0\x02\x01\x5a", Some(First::Tls)),
            (b"\x15\x04", Some(First::Other)),
            (b"POST /\0x", None),
            (b"GET / HTTP/1.1\r\n", Some(First::Http)),
            (b"FOO / HTTP/1.1", Some(First::Http)),
            (b"FOO / HTTP", None),
            (b"G", None),
            (b"\r\n\r\n", None),
            (b"\r\nGET / HTTP/1.1\n", Some(First::Http)),
            (b"  GET / HTTP/1.1\n", Some(First::Http)),
            (b"get / http/1.1\n", Some(First::Http)),
            (b"GET /\r\n", Some(First::Http)),
            (b"GET http://b.test/x\r\n", Some(First::Http)),
            (b"GET b.test/x\r\n", Some(First::Http)),
            (b"POST http://b.test/x\r\n", Some(First::Http)),
            (b"GET /\0 HTTP/1.1\r\n", Some(First::Http)),
            (b"POST /\0x HTTP/1.1\r\n", Some(First::Http)),
            (b"GET\t/ HTTP/1.1\r\n", Some(First::Http)),
            (b"\x0cGET /x HTTP/1.1\r\n", Some(First::Http)),
            (b"\xa0GET /x HTTP/1.1\r\n", Some(First::Http)),
            (b"GET\x0b/x HTTP/1.1\r\n", Some(First::Http)),
            (b"G\0ET /x HTTP/1.1\r\n", Some(First::Http)),
            (b"FOO / HTTP/1.1\r\n", Some(First::Http)),
            (b"PRI * HTTP/2.0\r\n", Some(First::Http)),
            (b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n", Some(First::Http)),
            (b"\r\n\r\n\0\r\nQUIT\n\x21\x11", Some(First::Http)),
            (b"SSH-2.0-OpenSSH_9.6\r\n", Some(First::Other)),
            (b"EHLO example.org\r\n", Some(First::Other)),
            (b"CONNECT {\"verbose\":false}\r\n", Some(First::Other)),
            (b"CONNECT\naccept-version:1.2\n", Some(First::Other)),
            (b"get key\r\n", Some(First::Other)),
            (b"GET key\r\n", Some(First::Other)),
            (b"<34>Oct 11 web: \"GET / HTTP/1.1\" 200\n", Some(First::Other)),
            (b"{\"line\": \"GET / HTTP/1.1\"}\n", Some(First::Other)),
            (b"*1\r\n$4\r\nPING\r\n", Some(First::Other)),
            (b"0033git-upload-pack /p.git\0host=a.org\0", Some(First::Other)),
            (b"0033git-upload-pack /p.git", None),
            (b"\0\0\0\x08\x04\xd2\x16\x2f", Some(First::Other)),
            (b"\x20\0\0\x01\x85\xae\x7f\0", Some(First::Other)),
            (b"\x10\x0c\0\x04MQTT", Some(First::Other)),
            (b"AMQP\0\0\x09\x01", Some(First::Other)),
            (b"\xff\xfd\x03\xff", Some(First::Other)),
            (b"\r\n\r\nx\r\n", Some(First::Other)),
        ];
        for (bytes, want) in cases {
            assert_eq!(tell(bytes), want, "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn a_line_that_never_ends_is_still_read() {
        assert_eq!(tell_whole(b"GET http://b.test/ HTTP/1.0"), First::Http);
        assert_eq!(tell_whole(b"GET http://b.test/"), First::Http);
        assert_eq!(tell_whole(b"PING"), First::Other);
        assert_eq!(tell_whole(b"\x16"), First::Other);
        assert_eq!(tell_whole(b"POST /\0x HTTP/1.1"), First::Http);
    }
}
