//! Who may talk to the server on a port.

use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, AUTHORIZATION, HOST, HeaderMap, HeaderValue, ORIGIN, VARY,
};
use hyper::{Method, StatusCode};
use sha2::{Digest, Sha256};

use crate::failure::{Failure, UNSAFE, USAGE};

/// The fewest characters of a token that is hard to guess.
const MIN_TOKEN: usize = 32;

/// Who may talk to the server.
pub(super) struct Gate {
    /// The token's digest, so that comparing tells nothing about it.
    token: [u8; 32],
    pub(super) hosts: Vec<String>,
    pub(super) origins: Vec<String>,
}

/// Reads the token from a file, which is made with a new one where it is missing.
pub(super) fn token(path: &Path) -> Result<String, Failure> {
    let says =
        |why: String| Failure::message(UNSAFE, format!("the token file {}: {why}", path.display()));
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    if let Some(dir) = dir.filter(|dir| !dir.exists()) {
        // Others have no business where a token lies.
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(|error| says(format!("{} cannot be made: {error}", dir.display())))?;
    }
    match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => {
            let mut random = [0; 32];
            getrandom::fill(&mut random).map_err(|error| says(error.to_string()))?;
            let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
            std::io::Write::write_all(&mut file, format!("{token}\n").as_bytes())?;
            tell!("zonekeep: made the token file {}", path.display());
            return Ok(token);
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(says(error.to_string())),
    }
    let file = std::fs::File::open(path).map_err(|error| says(error.to_string()))?;
    let meta = file.metadata()?;
    if !meta.is_file() || meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(says("it has to be a file of yours".to_owned()));
    }
    if meta.mode() & 0o077 != 0 {
        return Err(says("others can read or write it".to_owned())
            .hint("make it yours alone with `chmod 600`"));
    }
    let mut text = String::new();
    std::io::Read::read_to_string(&mut std::io::Read::take(file, 4096), &mut text)?;
    let token = text.trim();
    if token.len() < MIN_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let why = format!("a token has at least {MIN_TOKEN} characters and no blanks");
        return Err(says(why).hint("remove the file, and a new one is made"));
    }
    Ok(token.to_owned())
}

impl Gate {
    /// Returns a gate for a server at `addr`, which is also known by the names
    /// `hosts`, for pages from `origins`.
    pub(super) fn new(
        token: &str,
        addr: SocketAddr,
        hosts: &[String],
        origins: &[String],
    ) -> Result<Self, Failure> {
        let port = addr.port();
        let mut names: Vec<String> = match addr.ip().is_loopback() {
            true => ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).to_vec(),
            false => Vec::new(),
        };
        names.push(match addr.ip() {
            std::net::IpAddr::V4(ip) => ip.to_string(),
            std::net::IpAddr::V6(ip) => format!("[{ip}]"),
        });
        for host in hosts {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-._[]:".contains(c);
            if host.is_empty() || !host.chars().all(plain) {
                return Err(Failure::message(
                    USAGE,
                    format!("--allow-host {host}: write a name, or NAME:PORT"),
                ));
            }
            names.push(host.to_ascii_lowercase());
        }
        let with_port = |name: &String| {
            let is_bare = name
                .rsplit_once(':')
                .is_none_or(|(_, tail)| tail.ends_with(']') || tail.parse::<u16>().is_err());
            if is_bare { format!("{name}:{port}") } else { name.clone() }
        };
        let mut hosts: Vec<String> = names.iter().map(with_port).collect();
        // Clients leave the usual port out.
        if port == 80 {
            hosts.extend(names);
        }
        for origin in origins {
            if !origin.starts_with("http://") && !origin.starts_with("https://") {
                let says =
                    format!("--allow-origin {origin}: write one such as https://example.org");
                return Err(Failure::message(USAGE, says));
            }
        }
        let origins =
            origins.iter().map(|origin| origin.trim_end_matches('/').to_ascii_lowercase());
        let token = Sha256::digest(token.as_bytes()).into();
        Ok(Gate { token, hosts, origins: origins.collect() })
    }

    /// Says why a request is turned away.
    pub(super) fn refuses(
        &self,
        method: &Method,
        headers: &HeaderMap,
        authority: Option<&str>,
    ) -> Option<(StatusCode, &'static str)> {
        let mut hosts = headers.get_all(HOST).iter();
        let host = match (hosts.next().map(|host| host.to_str()), hosts.next()) {
            (Some(Ok(host)), None) => host.to_ascii_lowercase(),
            _ => return Some((StatusCode::BAD_REQUEST, "a request names one host")),
        };
        let known = |name: &str| self.hosts.iter().any(|host| *host == name);
        if !known(&host) || authority.is_some_and(|name| !known(&name.to_ascii_lowercase())) {
            return Some((StatusCode::FORBIDDEN, "this server is not known by that name"));
        }
        for origin in headers.get_all(ORIGIN) {
            let allowed = origin.to_str().is_ok_and(|origin| {
                self.origins.iter().any(|allowed| *allowed == origin.to_ascii_lowercase())
            });
            if !allowed {
                return Some((
                    StatusCode::FORBIDDEN,
                    "web pages from there may not talk to this server",
                ));
            }
        }
        // Browsers ask first, without the token, whether a page may send it.
        if method == Method::OPTIONS && headers.contains_key(ORIGIN) {
            return None;
        }
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let token = match (given.next().map(|value| value.to_str()), given.next()) {
            (Some(Ok(value)), None) => match value.split_once(' ') {
                Some((kind, token)) if kind.eq_ignore_ascii_case("bearer") => token.trim(),
                _ => "",
            },
            _ => "",
        };
        match <[u8; 32]>::from(Sha256::digest(token.as_bytes())) == self.token {
            true => None,
            false => Some((StatusCode::UNAUTHORIZED, "the token is missing or wrong")),
        }
    }

    /// Lets the web page that a request comes from read the answer: it was looked at
    /// by [`refuses`](Gate::refuses).
    pub(super) fn tell_browser(origin: Option<&HeaderValue>, answer: &mut HeaderMap) {
        let Some(origin) = origin else { return };
        let says = HeaderValue::from_static;
        answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        answer.insert(ACCESS_CONTROL_ALLOW_METHODS, says("GET, POST, DELETE"));
        let sent = "authorization, content-type, accept, last-event-id, mcp-session-id, \
                    mcp-protocol-version, mcp-method, mcp-name";
        answer.insert(ACCESS_CONTROL_ALLOW_HEADERS, says(sent));
        answer.insert(ACCESS_CONTROL_EXPOSE_HEADERS, says("mcp-session-id"));
        answer.append(VARY, says("origin"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn who_is_let_in() {
        let addr = "127.0.0.1:7000".parse().unwrap();
        let gate = Gate::new(
            TOKEN,
            addr,
            &["Box.example".into(), "other.example:9".into()],
            &["https://app.example/".into()],
        )
        .unwrap();
        let bearer = format!("Bearer {TOKEN}");
        let (host, auth) = (("host", "127.0.0.1:7000"), ("authorization", bearer.as_str()));
        type Case<'a> = (&'a [(&'static str, &'a str)], Option<u16>);
        let cases: &[Case<'_>] = &[
            (&[host, auth], None),
            (&[("host", "localhost:7000"), auth], None),
            (&[("host", "[::1]:7000"), auth], None),
            (&[("host", "box.example:7000"), auth], None),
            (&[("host", "BOX.example:7000"), auth], None),
            (&[("host", "other.example:9"), auth], None),
            (&[host, auth, ("origin", "https://app.example")], None),
            (&[auth], Some(400)),
            (&[host, host, auth], Some(400)),
            (&[("host", "localhost"), auth], Some(403)),
            (&[("host", "localhost:7001"), auth], Some(403)),
            (&[("host", "evil.example:7000"), auth], Some(403)),
            (&[("host", "localhost.evil.example:7000"), auth], Some(403)),
            (&[host, auth, ("origin", "http://localhost:7000")], Some(403)),
            (&[host, auth, ("origin", "null")], Some(403)),
            (
                &[
                    host,
                    auth,
                    ("origin", "https://app.example"),
                    ("origin", "https://evil.example"),
                ],
                Some(403),
            ),
            (&[host, auth, ("origin", "https://app.example.evil")], Some(403)),
            (&[host], Some(401)),
            (&[host, ("authorization", "Bearer")], Some(401)),
            (&[host, ("authorization", "Bearer ")], Some(401)),
            (&[host, ("authorization", TOKEN)], Some(401)),
            (&[host, ("authorization", "Basic 0123456789abcdef0123456789abcdef")], Some(401)),
            (&[host, ("authorization", "Bearer 0123456789abcdef0123456789abcdeF")], Some(401)),
            (&[host, auth, auth], Some(401)),
        ];
        for (given, want) in cases {
            let got = gate
                .refuses(&Method::POST, &headers(given), None)
                .map(|(status, _)| status.as_u16());
            assert_eq!(got, *want, "{given:?}");
        }
        let asks = |origin| {
            let headers = headers(&[host, ("origin", origin)]);
            gate.refuses(&Method::OPTIONS, &headers, None).map(|(status, _)| status.as_u16())
        };
        assert_eq!((asks("https://app.example"), asks("https://evil.example")), (None, Some(403)));
        let plain = gate.refuses(&Method::OPTIONS, &headers(&[host]), None);
        assert_eq!(plain.map(|(status, _)| status.as_u16()), Some(401));
        let good = headers(&[host, auth]);
        assert_eq!(
            gate.refuses(&Method::POST, &good, Some("evil.example")).map(|r| r.0.as_u16()),
            Some(403)
        );
    }

    #[test]
    fn a_token_is_private_and_hard_to_guess() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let made = token(&path).unwrap();
        assert_eq!(made.len(), 64);
        assert_eq!(token(&path).unwrap(), made);
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        assert!(token(&path).is_err());
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        for text in ["", "short", "0123456789abcdef 0123456789abcdef"] {
            std::fs::write(&path, text).unwrap();
            assert!(token(&path).is_err(), "{text:?}");
        }
        assert!(token(dir.path()).is_err());
        let path = dir.path().join("new/er/token");
        assert_eq!(token(&path).unwrap().len(), 64);
        for made in ["new", "new/er"] {
            assert_eq!(dir.path().join(made).metadata().unwrap().mode() & 0o777, 0o700, "{made}");
        }
        assert!(token(&path.join("below/token")).is_err(), "a file is no directory");
    }
}
