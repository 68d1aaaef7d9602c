//! The few parts of a URL that say where it leads.
//!
//! Credentials end here: what is read keeps no user, password or query, so that
//! nothing later can print them or hand them on.

use std::fmt;

use zonekeep_policy::hosts::{HostPattern, NamePattern};

/// Whether a connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    fn port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

/// Whether a URL came with something that must not go further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Credentials {
    None,
    Dropped,
}

/// A web address without credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Url {
    /// What stands before the scheme, such as `sparse+`.
    pub(super) kind: String,
    pub(super) scheme: Scheme,
    /// The host and its port, which is always given.
    pub(super) pattern: HostPattern,
    /// The path, as written.
    pub(super) path: String,
    pub(super) credentials: Credentials,
}

impl Url {
    /// Reads `[KIND+]http[s]://[USER[:PASSWORD]@]HOST[:PORT][/PATH][?QUERY][#FRAGMENT]`.
    ///
    /// Nothing else leads through the gate, so everything else is `None`.
    pub(super) fn parse(text: &str) -> Option<Url> {
        let text = text.trim();
        if text.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\') {
            return None;
        }
        let (before, rest) = text.split_once("://")?;
        let (kind, name) = before.rsplit_once('+').unwrap_or(("", before));
        let scheme = [Scheme::Http, Scheme::Https]
            .into_iter()
            .find(|scheme| scheme.name().eq_ignore_ascii_case(name))?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let (user, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let path_end = rest.find(['?', '#']).unwrap_or(rest.len());
        let query = rest.get(path_end..).unwrap_or_default();
        let dropped = !user.is_empty() || query.starts_with('?');
        Some(Url {
            kind: if kind.is_empty() { String::new() } else { format!("{kind}+") },
            scheme,
            pattern: pattern(place, scheme)?,
            path: rest.get(..path_end).unwrap_or_default().to_owned(),
            credentials: if dropped { Credentials::Dropped } else { Credentials::None },
        })
    }

    /// Returns where a link of the page at `self` leads.
    pub(super) fn join(&self, link: &str) -> Option<Url> {
        let link = link.trim();
        if link.contains("://") && !link.starts_with('/') {
            return Url::parse(link);
        }
        if let Some(rest) = link.strip_prefix("//") {
            return Url::parse(&format!("{}://{rest}", self.scheme.name()));
        }
        let own = |path: String| Url { kind: String::new(), path, ..self.clone() };
        let path = link.split(['?', '#']).next().unwrap_or_default();
        if path.contains(|c: char| c.is_control() || c.is_whitespace()) {
            return None;
        }
        if path.starts_with('/') {
            return Some(own(path.to_owned()));
        }
        let base = self.path.rsplit_once('/').map_or("", |(base, _)| base);
        Some(own(format!("{base}/{path}")))
    }

    /// Returns the same with more path, with one `/` between.
    pub(super) fn below(&self, path: &str) -> Url {
        let joined = format!("{}/{}", self.path.trim_end_matches('/'), path);
        Url { kind: String::new(), path: joined, ..self.clone() }
    }

    /// Returns the host as one writes it in a URL.
    pub(super) fn host(&self) -> String {
        match &self.pattern.name {
            NamePattern::Address(address) if address.is_ipv6() => format!("[{address}]"),
            NamePattern::Address(address) => address.to_string(),
            NamePattern::Exact(name) | NamePattern::Below(name) => name.clone(),
            NamePattern::Range { base, .. } => base.to_string(),
        }
    }

    pub(super) fn port(&self) -> u16 {
        self.pattern.port.unwrap_or_else(|| self.scheme.port())
    }

    /// Returns the host, with its port where that is not the scheme's.
    pub(super) fn authority(&self) -> String {
        if self.port() == self.scheme.port() {
            return self.host();
        }
        format!("{}:{}", self.host(), self.port())
    }

    /// Returns whether it leads to this machine itself.
    pub(super) fn is_loopback(&self) -> bool {
        match &self.pattern.name {
            NamePattern::Exact(name) => name == "localhost",
            NamePattern::Address(address) => address.is_loopback(),
            NamePattern::Below(_) | NamePattern::Range { .. } => false,
        }
    }

    /// Returns whether it leads to something that a name in public hands must not
    /// lead to: this machine, or an address where a name is expected.
    pub(super) fn is_bare(&self) -> bool {
        self.is_loopback() || !matches!(self.pattern.name, NamePattern::Exact(_))
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}://{}{}", self.kind, self.scheme.name(), self.authority(), self.path)
    }
}

/// Returns the URLs that stand in a text, each up to a blank, a quote or a bracket.
pub(super) fn urls_in(text: &str) -> Vec<&str> {
    let end = |c: char| c.is_whitespace() || c.is_control() || "\"'`<>()|\\,;".contains(c);
    let pieces = text.split(end).filter(|piece| Url::parse(piece).is_some());
    pieces.map(|piece| piece.trim_end_matches(['.', ':', '!'])).collect()
}

/// Returns a text without the users, passwords and queries of the URLs in it.
///
/// In doubt more goes than has to: whatever stands before the last `@` ahead of a
/// path is taken for a user and a password.
pub(super) fn without_credentials(text: &str) -> String {
    let ends = |c: char| c.is_whitespace() || "\"'<>`".contains(c);
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        clean.push_str(before);
        // What belongs to one URL ends at the latest where another begins.
        let next = |text: &str| text.find("://").unwrap_or(text.len());
        let end = after.find(|c| ends(c) || "/?#".contains(c)).unwrap_or(after.len());
        let (authority, after) = after.split_at(end.min(next(after)));
        clean.push_str(authority.rsplit('@').next().unwrap_or_default());
        let end = after.find(|c| ends(c) || ",|?#".contains(c)).unwrap_or(after.len());
        let end = end.min(next(after));
        let (path, after) = after.split_at(end);
        clean.push_str(path);
        rest = match after.starts_with(['?', '#']) {
            true => after.get(after.find(|c| ends(c) || c == '|').unwrap_or(after.len())..),
            false => Some(after),
        }
        .unwrap_or_default();
    }
    clean.push_str(rest);
    clean
}

fn pattern(place: &str, scheme: Scheme) -> Option<HostPattern> {
    if place.is_empty() || place.contains(['*', '/', '%', '{', '$']) {
        return None;
    }
    let bracket = place.rfind(']').map_or(0, |at| at + 1);
    let (host, port) = match place.get(bracket..)?.rfind(':') {
        Some(colon) => place.split_at(bracket + colon),
        None => (place, ""),
    };
    let port = match port.trim_start_matches(':') {
        "" => scheme.port(),
        digits if digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse().ok()?,
        _ => return None,
    };
    let pattern = HostPattern::parse(&format!("{host}:{port}")).ok()?;
    matches!(pattern.name, NamePattern::Exact(_) | NamePattern::Address(_)).then_some(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_gives_its_host_and_the_one_port_that_it_leads_to() {
        let cases = [
            ("https://index.test/simple/", Some("index.test:443")),
            ("HTTP://Index.Test", Some("index.test:80")),
            ("https://index.test:8443/x", Some("index.test:8443")),
            ("https://index.test.:8443/x", Some("index.test:8443")),
            ("sparse+https://crates.test/index/", Some("crates.test:443")),
            ("http://10.1.2.3:8081/repo", Some("10.1.2.3:8081")),
            ("http://[fd00::5]/repo", Some("[fd00::5]:80")),
            ("http://[fd00::5]:81/repo", Some("[fd00::5]:81")),
            ("http://localhost:4873/", Some("localhost:4873")),
            ("https://user:pw@index.test/", Some("index.test:443")),
            ("https://user@evil.test:pw@index.test/", Some("index.test:443")),
            ("https://index.test\\@evil.test/", None),
            ("https://*.test/", None),
            ("https:///path", None),
            ("https://${HOST}/path", None),
            ("https://index.test:99999/", None),
            ("https://index.test:+1/", None),
            ("https://127.1/", None),
            ("https://10.0.0.0/8", Some("10.0.0.0:443")),
            ("ssh://git@index.test/", None),
            ("file:///srv/wheels", None),
            ("/srv/wheels", None),
            ("https://a b.test/", None),
        ];
        for (text, pattern) in cases {
            let got = Url::parse(text).map(|url| url.pattern.to_string());
            assert_eq!(got.as_deref(), pattern, "{text}");
        }
    }

    #[test]
    fn credentials_and_queries_are_dropped_and_the_rest_is_kept() {
        let cases = [
            ("https://index.test/simple/", "https://index.test/simple/", Credentials::None),
            ("https://index.test:443/a", "https://index.test/a", Credentials::None),
            ("https://u:p@index.test:81/a", "https://index.test:81/a", Credentials::Dropped),
            ("sparse+https://t@c.test/i/", "sparse+https://c.test/i/", Credentials::Dropped),
            ("https://index.test/a?token=1#x", "https://index.test/a", Credentials::Dropped),
            ("http://u:p@[fd00::5]:81/", "http://[fd00::5]:81/", Credentials::Dropped),
        ];
        for (text, shown, credentials) in cases {
            let url = Url::parse(text).expect(text);
            assert_eq!((url.to_string().as_str(), url.credentials), (shown, credentials));
        }
        let text = "see https://u:p@a.test/x?k=1 and <http://b.test/y>, 'https://c@d.test'";
        let clean = "see https://a.test/x and <http://b.test/y>, 'https://d.test'";
        assert_eq!(without_credentials(text), clean);
        let cases = [
            (
                "https://u:p@a.test/go|https://v:q@b.test,direct",
                "https://a.test/go|https://b.test,direct",
            ),
            ("https://a.test,https://u:p@b.test", "https://a.test,https://b.test"),
            ("sums.test+key https://u:p@b.test", "sums.test+key https://b.test"),
            ("https://u:p,w@a.test/x", "https://a.test/x"),
            ("https://u:p|w@a.test/x?t=1,2|x", "https://a.test/x|x"),
            ("https://a.test/x://u:p@b.test", "https://a.test/x://b.test"),
            ("nothing at all", "nothing at all"),
        ];
        for (text, clean) in cases {
            assert_eq!(without_credentials(text), clean, "{text}");
        }
    }

    #[test]
    fn links_lead_where_a_browser_would_go() {
        let base = Url::parse("https://index.test/simple/pip/").expect("base");
        let cases = [
            ("https://files.test/a.whl#sha256=0", Some("https://files.test/a.whl")),
            ("//files.test/a.whl", Some("https://files.test/a.whl")),
            ("/packages/a.whl", Some("https://index.test/packages/a.whl")),
            ("a.whl", Some("https://index.test/simple/pip/a.whl")),
            ("../../a.whl", Some("https://index.test/simple/pip/../../a.whl")),
            ("/x?next=https://evil.test/", Some("https://index.test/x")),
            ("mailto://x", None),
            ("a b", None),
        ];
        for (link, to) in cases {
            assert_eq!(base.join(link).map(|url| url.to_string()).as_deref(), to, "{link}");
        }
    }

    #[test]
    fn urls_are_found_in_prose() {
        let text = "Base URL (default https://a.test/simple). \
                    Get \"http://b.test/x\": failed; <https://c.test/>";
        assert_eq!(urls_in(text), ["https://a.test/simple", "http://b.test/x", "https://c.test/"]);
    }
}
