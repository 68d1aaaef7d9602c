//! What becomes of placeholders in the requests of a connection.

use std::sync::Arc;

use base64::Engine;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use zonekeep_policy::hosts::Destination;

use super::scanner::Scanner;
use super::{Needles, Secret, Wiped, forms};
use crate::event::{Reason, Refusal};
use crate::http::{After, Head, Header, Heads};
use crate::mask::Mask;

/// What may stand before a value in its header: the schemes that hosts ask for.
///
/// A host may quote a part of what it was sent, cut at some length or taken out
/// between some signs. A command that chose the bytes beside the value would choose
/// which part of the value that is, and pieces are not found in answers.
const SCHEMES: [&str; 14] = [
    "Bearer ",
    "Token ",
    "Basic ",
    "Bot ",
    "Key ",
    "ApiKey ",
    "Api-Key ",
    "OAuth ",
    "GenieKey ",
    "SSWS ",
    "Splunk ",
    "DeepL-Auth-Key ",
    "Klaviyo-API-Key ",
    "Token token=",
];

/// What may follow a value that is the user of `Basic` credentials.
const AFTER_USER: [&[u8]; 3] = [b"", b"x", b"x-oauth-basic"];

/// The longest user before a value in `Basic` credentials.
const MAX_USER: usize = 64;

/// Reads base64 with or without the signs at its end.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What a request travels in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    /// TLS that is ended here, to a server whose certificate was checked.
    Tls,
    /// What everybody on the way can read.
    Plain,
}

/// The secrets of a session.
#[derive(Debug)]
pub(crate) struct Secrets {
    all: Vec<Secret>,
    /// The placeholders, in each form.
    placeholders: Needles,
    /// Whose placeholder each of these is.
    owners: Vec<usize>,
}

impl Secrets {
    pub(crate) fn new(all: Vec<Secret>) -> Secrets {
        let (mut placeholders, mut owners) = (Vec::new(), Vec::new());
        for (owner, secret) in all.iter().enumerate() {
            let placeholder = secret.placeholder.as_bytes();
            for form in forms::base64(placeholder).into_iter().chain([placeholder.to_vec()]) {
                placeholders.push(Wiped(form));
                owners.push(owner);
            }
        }
        Secrets { all, placeholders: Needles::new(placeholders), owners }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns whether TLS to a destination is ended here, for a secret's sake.
    pub(crate) fn ends_tls(&self, to: &Destination) -> bool {
        self.all.iter().any(|secret| secret.goes_to(to))
    }

    /// Returns what looks at the requests of a connection, and puts the values in.
    pub(crate) fn heads(self: &Arc<Self>, to: &Destination, wire: Wire) -> Box<dyn Heads> {
        let sent = self.sent(to, wire).map(|(which, _)| which).collect();
        let masked = self.ends_tls(to);
        Box::new(Guard { secrets: Arc::clone(self), sent, masked, scanner: Scanner::default() })
    }

    /// Returns what looks for placeholders in what is no HTTP, or cannot be read.
    pub(crate) fn scan(self: &Arc<Self>) -> Box<dyn Heads> {
        let (secrets, sent) = (Arc::clone(self), Vec::new());
        Box::new(Guard { secrets, sent, masked: false, scanner: Scanner::default() })
    }

    /// Returns what has to be masked in the answers of a destination, if any
    /// value is ever sent there: also over another connection.
    pub(crate) fn mask(&self, to: &Destination) -> Option<Mask> {
        let mask = Mask::new(self.all.iter().filter(|secret| secret.goes_to(to)));
        (!mask.is_empty()).then_some(mask)
    }

    /// Returns the secrets whose values may be sent to a destination.
    fn sent(&self, to: &Destination, wire: Wire) -> impl Iterator<Item = (usize, &Secret)> {
        let safe = wire == Wire::Tls || to.host.is_localhost();
        self.all.iter().enumerate().filter(move |(_, secret)| safe && secret.goes_to(to))
    }

    /// Refuses text that has a placeholder.
    fn refuse(&self, text: &[u8], place: &str) -> Result<(), Refusal> {
        match self.placeholders.find(text, 0) {
            Some((_, which)) => Err(self.refusal(which, place)),
            None => Ok(()),
        }
    }

    fn refusal(&self, which: usize, place: &str) -> Refusal {
        let secret = &self.all[self.owners[which]];
        let detail = format!(
            "the secret {} does not belong {place}: it is only sent {}, over TLS",
            secret.name,
            secret.whereto()
        );
        Refusal::new(Reason::Secret, detail)
    }
}

/// Looks at the requests of one connection.
struct Guard {
    secrets: Arc<Secrets>,
    /// The secrets whose values may be sent.
    sent: Vec<usize>,
    /// Answers may have a value in them that was sent on any connection.
    masked: bool,
    scanner: Scanner,
}

impl Heads for Guard {
    fn check(&mut self, head: &mut Head) -> Result<(), Refusal> {
        self.scanner.restart();
        for &which in &self.sent {
            put_value(&mut head.headers, &self.secrets.all[which])?;
        }
        if self.masked {
            keep_readable(head);
            // A server that does not read the body would take a later request, with a
            // value in it, for a part of whatever the body says.
            if head.has_body() {
                head.after = After::Close;
            }
        }
        let secrets = &self.secrets;
        secrets.refuse(head.method.as_bytes(), "in the method of a request")?;
        secrets.refuse(head.target.as_bytes(), "in the address of a request")?;
        secrets.refuse(&forms::unescaped(head.target.as_bytes()), "in the address of a request")?;
        for Header { name, value } in &head.headers {
            secrets.refuse(name.as_bytes(), "in the name of a header")?;
            secrets.refuse(value, &format!("in the header {name} of this request"))?;
        }
        Ok(())
    }

    fn outgoing(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        match self.scanner.push(&self.secrets.placeholders, bytes) {
            Some(which) => Err(self.secrets.refusal(which, "in what is sent here")),
            None => Ok(()),
        }
    }
}

/// Asks for answers that can be masked: neither compressed, nor a part that may
/// begin within a value, nor the difference to another answer.
fn keep_readable(head: &mut Head) {
    const DROPPED: [&str; 6] = [
        "accept-encoding",
        "sec-websocket-extensions",
        "range",
        "request-range",
        "if-range",
        "a-im",
    ];
    head.headers.retain(|header| {
        // Servers that hand headers on as variables take `_` for `-`.
        let name = header.name.to_ascii_lowercase().replace('_', "-");
        !DROPPED.contains(&name.as_str())
    });
    let (name, value) = ("Accept-Encoding".to_owned(), b"identity".to_vec());
    head.headers.push(Header { name, value });
}

/// Puts the value in the place of the placeholder, where the header is the secret's
/// and nothing but what its host asks for stands beside it.
fn put_value(headers: &mut [Header], secret: &Secret) -> Result<(), Refusal> {
    let placeholder = secret.placeholder.as_bytes();
    let has = |text: &[u8]| text.windows(placeholder.len()).any(|part| part == placeholder);
    let holds = |header: &Header| {
        header.name.eq_ignore_ascii_case(&secret.header)
            && (has(&header.value) || basic(&header.value).is_some_and(|(_, text)| has(&text)))
    };
    let Some(held) = headers.iter().position(holds) else { return Ok(()) };
    // Servers join headers of the same name, and some take `_` for `-`.
    let plain = |name: &str| name.to_ascii_lowercase().replace('_', "-");
    let named = plain(&secret.header);
    let alone = headers.iter().filter(|header| plain(&header.name) == named).count() == 1;
    match with_value(&headers[held].value, placeholder, &secret.value.0).filter(|_| alone) {
        Some(changed) => {
            headers[held].value = changed;
            Ok(())
        }
        None => {
            let detail = format!(
                "the secret {} has to stand alone in the header {}, after a scheme such as Bearer, \
                 or in Basic credentials",
                secret.name, secret.header
            );
            Err(Refusal::new(Reason::Secret, detail))
        }
    }
}

/// Returns a header's text with the value; `None` where anything else stands beside
/// the placeholder.
fn with_value(text: &[u8], placeholder: &[u8], value: &[u8]) -> Option<Vec<u8>> {
    let text = text.trim_ascii();
    if let Some(before) = text.strip_suffix(placeholder) {
        let scheme = |scheme: &&str| before.eq_ignore_ascii_case(scheme.as_bytes());
        let known = before.is_empty() || SCHEMES.iter().any(scheme);
        return known.then(|| [before, value].concat());
    }
    let (scheme, decoded) = basic(text)?;
    let with = match (decoded.strip_suffix(placeholder), decoded.strip_prefix(placeholder)) {
        (Some(before), _) => {
            let user = before.strip_suffix(b":")?;
            let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._@+-$".contains(byte);
            (user.len() <= MAX_USER && user.iter().all(plain)).then(|| [before, value].concat())?
        }
        (None, Some(after)) => {
            let password = after.strip_prefix(b":")?;
            AFTER_USER.contains(&password).then(|| [value, after].concat())?
        }
        (None, None) => return None,
    };
    Some([scheme, STANDARD.encode(Wiped(with).0.as_slice()).as_bytes()].concat())
}

/// Takes `Basic dXNlcjpwYXNz` apart.
fn basic(value: &[u8]) -> Option<(&[u8], Vec<u8>)> {
    const SCHEME: &[u8] = b"basic ";
    let (scheme, encoded) = value.split_at_checked(SCHEME.len())?;
    let encoded = encoded.trim_ascii();
    let decoded = LENIENT.decode(encoded).ok()?;
    scheme.eq_ignore_ascii_case(SCHEME).then_some((scheme, decoded))
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
