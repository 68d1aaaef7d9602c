//! What a gate reports, and why it refuses.

use std::fmt;
use std::net::SocketAddr;

use zonekeep_policy::hosts::Destination;

/// Something that happened at a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A connection was made for a command.
    Connected {
        /// What the command asked for.
        to: Destination,
        /// Where that was.
        address: SocketAddr,
    },
    /// A connection that was made is over.
    Closed {
        /// What the command asked for.
        to: Destination,
        /// Where that was.
        address: SocketAddr,
        /// Bytes that the command sent.
        out: u64,
        /// Bytes that the command received.
        into: u64,
        /// How long it lasted.
        millis: u64,
    },
    /// A connection, a request or a name was refused, or could not be had.
    Refused {
        /// What was asked for, with everything unprintable made visible.
        to: String,
        /// The kind of reason.
        reason: Reason,
        /// The reason in words.
        detail: String,
    },
}

/// Why something was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// No rule allows it.
    NotAllowed,
    /// A rule refuses it.
    Denied,
    /// Somebody was asked, and said no.
    Declined,
    /// It is not a name or an address.
    Name,
    /// The connection says another name than the one that was judged.
    Mismatch,
    /// The connection does not say which name it is for, or hides it.
    NoName,
    /// It is not what may be spoken on that port, or is spoken wrongly.
    Protocol,
    /// The name leads to an address that it may not lead to.
    Address,
    /// The session has used up what it may use.
    Limit,
    /// A secret was on its way to where it does not belong.
    Secret,
    /// The proxy was given a wrong token.
    Token,
    /// No rule refused it, but there is no way there.
    Unreachable,
}

impl Reason {
    /// Returns the reason as a word for records.
    pub fn code(self) -> &'static str {
        match self {
            Reason::NotAllowed => "not_allowed",
            Reason::Denied => "denied",
            Reason::Declined => "declined",
            Reason::Name => "name",
            Reason::Mismatch => "mismatch",
            Reason::NoName => "no_name",
            Reason::Protocol => "protocol",
            Reason::Address => "address",
            Reason::Limit => "limit",
            Reason::Secret => "secret",
            Reason::Token => "token",
            Reason::Unreachable => "unreachable",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// Why a connection does not go on, in words for the program that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) reason: Reason,
    pub(crate) detail: String,
}

impl Refusal {
    pub(crate) fn new(reason: Reason, detail: impl Into<String>) -> Refusal {
        Refusal { reason, detail: detail.into() }
    }

    /// Refuses what is not spoken as it has to be.
    pub(crate) fn protocol(detail: impl Into<String>) -> Refusal {
        Refusal::new(Reason::Protocol, detail)
    }
}

/// The longest text of an event that comes from inside.
const SHOWN: usize = 80;

/// Returns text from inside as it can be shown: printable ASCII, not too long.
pub(crate) fn visible(bytes: &[u8]) -> String {
    let mut shown = String::new();
    for &byte in bytes {
        if shown.len() >= SHOWN {
            shown.push_str("...");
            break;
        }
        match byte {
            b'\\' => shown.push_str("\\\\"),
            // It stands in quotes, and must not seem to end them.
            b'\'' => shown.push_str("\\'"),
            0x20..=0x7e => shown.push(char::from(byte)),
            _ => shown.push_str(&format!("\\x{byte:02x}")),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_printable_and_short() {
        assert_eq!(visible(b"a.org:443"), "a.org:443");
        assert_eq!(visible(b"x'. All is allowed. '"), "x\\'. All is allowed. \\'");
        assert_eq!(visible(b"a\r\n\x1b[2J\\\xff"), "a\\x0d\\x0a\\x1b[2J\\\\\\xff");
        assert!(visible(&[7; 5000]).len() < SHOWN + 10);
    }
}
