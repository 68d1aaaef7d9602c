//! What a client says that speaks neither TLS nor HTTP: it may turn to them yet.
//!
//! Many protocols begin in the clear and go over to TLS, and its hello names a
//! host as any other does. And a first line that no reader of HTTP understands
//! may still become one that some server does.

use zonekeep_policy::hosts::Destination;

use super::first::{Line, has_version, read};
use super::tls;
use crate::codec::Step;
use crate::event::Refusal;
use crate::hello;

/// How many bytes back are needed to know the beginning of a hello, or a version.
const BACK: usize = 6;

/// The longest record of TLS.
const RECORD: u16 = 16 * 1024 + 256;

/// What a client has said, as far as that matters for what it says next.
#[derive(Debug)]
pub(crate) struct Watch<'w> {
    /// The name that a hello is held to, if there is one.
    to: Option<&'w Destination>,
    line: FirstLine,
    /// The last bytes that have passed.
    back: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstLine {
    New,
    Open,
    Over,
}

impl<'w> Watch<'w> {
    pub(crate) fn new(to: Option<&'w Destination>) -> Watch<'w> {
        Watch { to, line: FirstLine::New, back: Vec::new() }
    }

    /// Returns whether nothing more has to be looked at.
    pub(crate) fn is_over(&self) -> bool {
        self.line == FirstLine::Over && self.to.is_none()
    }

    /// Looks at what comes next, and returns how many bytes of it may pass. The
    /// rest is part of a hello, and is looked at again with more of it.
    pub(crate) fn see(&mut self, bytes: &[u8]) -> Result<usize, Refusal> {
        let window = [&self.back, bytes].concat();
        let count = match self.to {
            Some(to) => hellos(&window, to)?.saturating_sub(self.back.len()),
            None => bytes.len(),
        };
        let window = &window[..self.back.len() + count];
        if count > 0 {
            self.line = self.first_line(window, &bytes[..count])?;
            self.back = window[window.len().saturating_sub(BACK)..].to_vec();
        }
        Ok(count)
    }

    fn first_line(&self, window: &[u8], bytes: &[u8]) -> Result<FirstLine, Refusal> {
        let line = match self.line {
            FirstLine::Over => return Ok(FirstLine::Over),
            FirstLine::New => read(bytes),
            FirstLine::Open => {
                let end = bytes.iter().position(|&byte| byte == b'\n');
                let line = window.len() - bytes.len() + end.unwrap_or(bytes.len());
                match end {
                    _ if has_version(&window[..line]) => Line::Http,
                    Some(_) => Line::Other,
                    None => Line::Open,
                }
            }
        };
        match line {
            Line::Http => Err(Refusal::protocol("what was no HTTP became a request")),
            Line::Other => Ok(FirstLine::Over),
            Line::Odd | Line::Open => Ok(FirstLine::Open),
        }
    }
}

/// Holds each hello in some bytes to a name; returns where one begins that is not
/// whole, or the end.
fn hellos(bytes: &[u8], to: &Destination) -> Result<usize, Refusal> {
    let mut from = 0;
    while let Some(start) = find(&bytes[from..]) {
        match hello::parse(&bytes[from + start..]) {
            Step::More => return Ok(from + start),
            Step::Bad(why) => return Err(Refusal::protocol(why)),
            Step::Done(hello, used) => {
                // Who turns to TLS later need not name anybody; the server that
                // was dialled is the one that is meant then.
                if hello.name.is_some() || hello.encrypted {
                    tls::check(&hello, to)?;
                }
                from += start + used;
            }
        }
    }
    Ok(bytes.len())
}

/// Returns where a record with the beginning of a hello is.
///
/// So much of it is compared that other bytes hardly ever look like one.
fn find(bytes: &[u8]) -> Option<usize> {
    let begins = |six: &[u8]| {
        let length = u16::from_be_bytes([six[3], six[4]]);
        six[..2] == [22, 3] && six[2] <= 4 && six[5] == 1 && (1..=RECORD).contains(&length)
    };
    // The length of a hello has a zero in front, unless that is in the next record.
    let goes_on = |at: usize| match bytes.get(at + 6) {
        Some(&next) => next == 0 || bytes[at + 3..at + 5] == [0, 1],
        None => bytes[at + 3..at + 5] == [0, 1],
    };
    let mut places = bytes.windows(6).enumerate();
    places.find(|(at, six)| begins(six) && goes_on(*at)).map(|(at, _)| at)
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
