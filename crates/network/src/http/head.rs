//! The head of a request: read strictly, and written anew.
//!
//! What a server reads must be what was judged here. So whatever two readers of
//! HTTP could read in two ways is refused instead of repaired, and what passes
//! is written again from its parts: no byte of a head gets through as it came.

use httparse::{EMPTY_HEADER, Status};

use super::site::Site;
use crate::event::{Reason, Refusal};

/// The most bytes of a head.
pub(crate) const LIMIT: usize = 64 * 1024;

/// The most headers of a request.
const HEADERS: usize = 100;

/// The most bytes of a method's name.
const METHOD: usize = 32;

/// The version that a request is spoken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    Http10,
    Http11,
}

/// The form of a request's target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    /// A path.
    Origin,
    /// `*`, of OPTIONS.
    Star,
    /// A whole address, which is written as a path; `secure` for https.
    Absolute { site: Site, secure: bool },
    /// A name and a port, of CONNECT.
    Authority(Site),
}

/// How long a request's body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// There is none.
    None,
    /// That many bytes.
    Length(u64),
    /// In chunks, until the empty one.
    Chunked,
}

/// What the client wants of the connection after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// What its version does by itself.
    Default,
    Close,
    KeepAlive,
    /// Another protocol, `websocket`.
    Upgrade,
}

/// A header that goes to the server as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) value: Vec<u8>,
}

/// A request's head.
///
/// What decides about the connection (the host, the body's length, whether it is
/// kept) has its own field; `headers` has none of that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) method: String,
    /// A path or `*`; empty for CONNECT.
    pub(crate) target: String,
    pub(crate) form: Form,
    pub(crate) version: Version,
    /// What the Host header says.
    pub(crate) host: Option<Site>,
    pub(crate) headers: Vec<Header>,
    pub(crate) framing: Framing,
    pub(crate) after: After,
    /// The credentials for a proxy; they are never sent on.
    pub(crate) proxy_authorization: Option<Vec<u8>>,
}

/// Returns where the head ends that `bytes` begin with, if it is all there.
///
/// `seen` bytes were looked at before. Line ends that are not CR LF are refused
/// as soon as they come, before anybody waits for more.
pub(crate) fn end(bytes: &[u8], seen: usize) -> Result<Option<usize>, Refusal> {
    let from = seen.saturating_sub(3);
    for at in from..bytes.len() {
        match (at > 0 && bytes[at - 1] == b'\r', bytes[at]) {
            (true, b'\n') if bytes[..=at].ends_with(b"\r\n\r\n") => return Ok(Some(at + 1)),
            (true, b'\n') => {}
            (true, _) => return Err(Refusal::protocol("the request has a CR that ends no line")),
            (false, b'\n') => {
                return Err(Refusal::protocol("a line of the request ends without CR LF"));
            }
            (false, 0) => return Err(Refusal::protocol("the request has a NUL")),
            (false, _) => {}
        }
        if at >= LIMIT {
            return Err(Refusal::protocol("the head of the request is longer than 64 KiB"));
        }
    }
    Ok(None)
}

impl Head {
    /// Reads a whole head, as [`end`] found it.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Head, Refusal> {
        if end(bytes, 0)? != Some(bytes.len()) {
            return Err(Refusal::protocol("the head of the request does not end"));
        }
        if bytes.windows(3).any(|three| matches!(three, b"\r\n " | b"\r\n\t")) {
            return Err(Refusal::protocol("a header of the request is folded over lines"));
        }
        let mut headers = [EMPTY_HEADER; HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(bytes) {
            Ok(Status::Complete(used)) if used == bytes.len() => {}
            Err(httparse::Error::TooManyHeaders) => {
                return Err(Refusal::protocol("the request has more than 100 headers"));
            }
            _ => return Err(Refusal::protocol("the request is not HTTP/1.0 or HTTP/1.1")),
        }
        let (Some(method), Some(target), Some(version)) =
            (request.method, request.path, request.version)
        else {
            return Err(Refusal::protocol("the request is not HTTP/1.0 or HTTP/1.1"));
        };
        // httparse passes over blank lines before the request, and takes several
        // blanks within its first line for one.
        if !bytes.starts_with(format!("{method} {target} HTTP/1.{version}\r\n").as_bytes()) {
            return Err(Refusal::protocol("the first line of the request is not plain"));
        }
        let version = if version == 0 { Version::Http10 } else { Version::Http11 };
        let (form, target) = target_of(method, target)?;
        let mut head = Head {
            method: method.to_owned(),
            target,
            form,
            version,
            host: None,
            headers: Vec::new(),
            framing: Framing::None,
            after: After::Default,
            proxy_authorization: None,
        };
        head.sort(request.headers)?;
        Ok(head)
    }

    /// Puts each header where it belongs.
    fn sort(&mut self, headers: &[httparse::Header<'_>]) -> Result<(), Refusal> {
        let mut connection = Vec::new();
        let mut upgrade = Vec::new();
        let mut framing = None;
        for header in headers {
            let (name, value) = (header.name, header.value);
            if name.is_empty() {
                return Err(Refusal::protocol("a header of the request has no name"));
            }
            // Servers that hand headers on as variables take `_` for `-`.
            let plain = name.to_ascii_lowercase();
            if plain.contains('_') && is_special(&plain.replace('_', "-")) {
                return Err(Refusal::protocol(format!("the header '{name}' looks like another")));
            }
            match plain.as_str() {
                "host" if self.host.is_some() => {
                    return Err(Refusal::protocol("the request has more than one Host"));
                }
                "host" => self.host = Some(Site::parse(value)?),
                "content-length" | "transfer-encoding" if framing.is_some() => {
                    return Err(Refusal::protocol("the request says its length twice"));
                }
                "content-length" => framing = Some(Framing::Length(length(value)?)),
                "transfer-encoding" if self.version == Version::Http10 => {
                    return Err(Refusal::protocol("HTTP/1.0 has no Transfer-Encoding"));
                }
                "transfer-encoding" if value.eq_ignore_ascii_case(b"chunked") => {
                    framing = Some(Framing::Chunked);
                }
                "transfer-encoding" => {
                    return Err(Refusal::protocol("Transfer-Encoding is not just 'chunked'"));
                }
                "connection" => connection.extend(tokens(value)),
                "upgrade" => upgrade.extend(tokens(value)),
                "proxy-authorization" if self.proxy_authorization.is_some() => {
                    return Err(Refusal::protocol("the request has two Proxy-Authorizations"));
                }
                "proxy-authorization" => self.proxy_authorization = Some(value.to_vec()),
                plain if is_special(plain) => {} // of no use beyond this connection
                _ => self.headers.push(Header { name: name.to_owned(), value: value.to_vec() }),
            }
        }
        self.framing = framing.unwrap_or(Framing::None);
        self.after = self.after(&connection, &upgrade)?;
        Ok(())
    }

    /// Reads the Connection header, and takes away the headers that it names.
    fn after(&mut self, connection: &[String], upgrade: &[String]) -> Result<After, Refusal> {
        let mut after = After::Default;
        for token in connection {
            match token.as_str() {
                "close" => after = After::Close,
                "keep-alive" if after == After::Default => after = After::KeepAlive,
                "keep-alive" => {}
                // Others than `websocket` are as if they were not asked for.
                "upgrade" if after == After::Close => {}
                "upgrade" if upgrade == ["websocket"] && self.may_upgrade() => {
                    after = After::Upgrade;
                }
                "upgrade" => {}
                token if is_kept(token) => {
                    return Err(Refusal::protocol(format!("Connection names '{token}'")));
                }
                token => self.headers.retain(|header| !header.name.eq_ignore_ascii_case(token)),
            }
        }
        Ok(after)
    }

    fn may_upgrade(&self) -> bool {
        self.method == "GET" && self.version == Version::Http11 && !self.has_body()
    }

    /// Returns whether a body follows.
    pub(crate) fn has_body(&self) -> bool {
        !matches!(self.framing, Framing::None | Framing::Length(0))
    }

    /// Returns whether no request follows on the connection.
    pub(crate) fn is_last(&self) -> bool {
        match self.after {
            After::Close => true,
            After::KeepAlive => false,
            After::Default | After::Upgrade => self.version == Version::Http10,
        }
    }

    /// Writes the head as it is sent on.
    ///
    /// Headers may have been changed since it was read, so they are looked at
    /// again.
    pub(crate) fn write(&self) -> Result<Vec<u8>, Refusal> {
        if let Form::Authority(_) = self.form {
            return Err(Refusal::protocol("CONNECT is not passed on"));
        }
        let version = match self.version {
            Version::Http10 => "HTTP/1.0",
            Version::Http11 => "HTTP/1.1",
        };
        let mut text = format!("{} {} {version}\r\n", self.method, self.target).into_bytes();
        let mut line = |name: &str, value: &[u8]| {
            text.extend_from_slice(name.as_bytes());
            text.extend_from_slice(b": ");
            text.extend_from_slice(value);
            text.extend_from_slice(b"\r\n");
        };
        if let Some(host) = &self.host {
            line("Host", host.to_string().as_bytes());
        }
        for Header { name, value } in &self.headers {
            let plain = |byte: &u8| matches!(byte, b'\t' | 0x20..=0x7e | 0x80..);
            if !value.iter().all(plain) {
                return Err(Refusal::protocol(format!("the header '{name}' is not one line")));
            }
            line(name, value);
        }
        match self.framing {
            Framing::None => {}
            Framing::Length(length) => line("Content-Length", length.to_string().as_bytes()),
            Framing::Chunked => line("Transfer-Encoding", b"chunked"),
        }
        match self.after {
            After::Default => {}
            After::Close => line("Connection", b"close"),
            After::KeepAlive => line("Connection", b"keep-alive"),
            After::Upgrade => {
                line("Connection", b"Upgrade");
                line("Upgrade", b"websocket");
            }
        }
        text.extend_from_slice(b"\r\n");
        Ok(text)
    }
}

/// Returns whether a header is about one connection, or decides how a request is
/// read: such headers are never sent on as they came.
fn is_special(name: &str) -> bool {
    const SPECIAL: [&str; 14] = [
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "upgrade",
        "http2-settings",
        "keep-alive",
        "te",
        "trailer",
        "proxy-connection",
        "proxy-authorization",
        "proxy-authenticate",
        "proxy-authentication-info",
        "proxy-status",
    ];
    SPECIAL.contains(&name)
}

/// Returns whether a header must not be taken away by naming it in Connection.
fn is_kept(name: &str) -> bool {
    const KEPT: [&str; 6] =
        ["host", "content-length", "transfer-encoding", "connection", "authorization", "cookie"];
    KEPT.contains(&name)
}

/// Splits a list into its words, in lower case.
fn tokens(value: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(value);
    let words = text.split(',').map(|word| word.trim_matches([' ', '\t']).to_ascii_lowercase());
    words.filter(|word| !word.is_empty()).collect()
}

pub(super) fn length(value: &[u8]) -> Result<u64, Refusal> {
    let bad = || Refusal::protocol("Content-Length is not a number");
    // `parse` alone would take "+1".
    if value.is_empty() || value.len() > 18 || !value.iter().all(u8::is_ascii_digit) {
        return Err(bad());
    }
    std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()).ok_or_else(bad)
}

/// Reads the target of a request: its form, and what is written instead.
fn target_of(method: &str, target: &str) -> Result<(Form, String), Refusal> {
    if method.len() > METHOD {
        return Err(Refusal::protocol("the method of the request is too long"));
    }
    if !target.bytes().all(|byte| matches!(byte, 0x21..=0x7e)) {
        return Err(Refusal::protocol("the address of the request is not plain ASCII"));
    }
    match method {
        "CONNECT" => {
            let site = Site::parse(target.as_bytes())?;
            return match site.port {
                Some(_) => Ok((Form::Authority(site), String::new())),
                None => Err(Refusal::new(Reason::Name, "CONNECT names no port")),
            };
        }
        // It would show the sender what was put into the request on the way.
        "TRACE" | "TRACK" => return Err(Refusal::protocol(format!("{method} is not passed on"))),
        _ => {}
    }
    if target.starts_with('/') {
        return Ok((Form::Origin, target.to_owned()));
    }
    if target == "*" {
        return match method {
            "OPTIONS" => Ok((Form::Star, target.to_owned())),
            _ => Err(Refusal::protocol("only OPTIONS is about '*'")),
        };
    }
    absolute(method, target)
}

/// Reads `http://name:port/path`.
fn absolute(method: &str, target: &str) -> Result<(Form, String), Refusal> {
    let unknown = || Refusal::protocol("the address of the request is neither a path nor http");
    let (scheme, rest) = target.split_once("://").ok_or_else(unknown)?;
    let secure = match scheme.to_ascii_lowercase().as_str() {
        "http" => false,
        "https" => true,
        _ => return Err(unknown()),
    };
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let site = Site::parse(authority.as_bytes())?;
    let path = match path.as_bytes().first() {
        None if method == "OPTIONS" => "*".to_owned(),
        None => "/".to_owned(),
        Some(b'/') => path.to_owned(),
        Some(b'?') => format!("/{path}"),
        Some(_) => return Err(unknown()),
    };
    Ok((Form::Absolute { site, secure }, path))
}

#[cfg(test)]
#[path = "head_tests.rs"]
mod tests;
