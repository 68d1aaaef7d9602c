//! The first message of a TLS connection, and the name that it asks for.
//!
//! What is read here decides where a connection may go, and the server reads
//! the same bytes again. So whatever two readers could understand differently
//! is refused: lengths that do not fit exactly, anything twice, anything in
//! between, anything after.

use crate::codec::{Bytes, Step, visible};

/// The most bytes that a hello may take, with the records around it.
pub const LIMIT: usize = 64 * 1024;

/// A hello in more records than this is refused.
const MAX_RECORDS: usize = 64;
const MAX_EXTENSIONS: usize = 128;
const MAX_PROTOCOLS: usize = 32;
const MAX_NAME: usize = 255;
/// The most bytes of a record that is not encrypted.
const MAX_FRAGMENT: usize = 1 << 14;

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
/// What stands for a random number where a server wants another hello, and where.
const RETRY_RANDOM: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];
const RETRY_START: usize = MESSAGE_HEADER + 2;
const RECORD_HEADER: usize = 5;
const MESSAGE_HEADER: usize = 4;

const SERVER_NAME: u16 = 0;
const PROTOCOLS: u16 = 16;
/// Encrypted hellos: drafts of it, the standard, and the older encrypted name.
const ENCRYPTED: [u16; 7] = [0xfe08, 0xfe09, 0xfe0a, 0xfe0b, 0xfe0c, 0xfe0d, 0xffce];

/// What a client says when it starts TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The name of the server, as sent: visible ASCII, and not yet a valid host.
    pub name: Option<String>,
    /// The true name may be hidden in an encrypted part. Some clients send a
    /// part of that kind without use; nobody but the server can tell.
    pub encrypted: bool,
    /// What the client would speak inside, such as `http/1.1`.
    pub protocols: Vec<Vec<u8>>,
}

/// Returns whether a connection starts as TLS does; `None` where it cannot be
/// told yet. The form of SSL 2 counts as TLS here, so that it is read, and refused.
pub fn starts(bytes: &[u8]) -> Option<bool> {
    match bytes {
        [] => None,
        [HANDSHAKE, rest @ ..] => rest.first().map(|&major| major == 3),
        [first, rest @ ..] if first & 0x80 != 0 => match rest {
            [_, CLIENT_HELLO, major, ..] => Some(*major == 3 || *major == 0),
            [_, CLIENT_HELLO] | [_] | [] => None,
            _ => Some(false),
        },
        _ => Some(false),
    }
}

/// Reads a hello from all bytes that a client has sent so far.
///
/// What follows the hello is left alone: a client may send data early, and it
/// is encrypted for the server that the hello names.
pub fn parse(bytes: &[u8]) -> Step<Hello> {
    match frames(bytes) {
        Err(why) => Step::Bad(why),
        Ok(None) => Step::More,
        Ok(Some(used)) => match read(&message(&bytes[..used])) {
            Ok(hello) => Step::Done(hello, used),
            Err(why) => Step::Bad(why),
        },
    }
}

/// Returns whether a server wants another hello, from the first bytes it sent.
///
/// The other hello may name another server, and some servers follow that one:
/// until this is known, nothing of the client may pass. Never [`Step::Bad`].
pub fn retried(bytes: &[u8]) -> Step<bool> {
    match bytes {
        [] | [HANDSHAKE] | [HANDSHAKE, 3, ..] => {}
        _ => return Step::Done(false, 0),
    }
    let start = gather(bytes, RETRY_START + RETRY_RANDOM.len());
    match start[..] {
        [] => Step::More,
        [SERVER_HELLO, ..] => match start.get(RETRY_START..) {
            Some(random) if random.len() == RETRY_RANDOM.len() => {
                Step::Done(random == RETRY_RANDOM, 0)
            }
            _ => Step::More,
        },
        _ => Step::Done(false, 0),
    }
}

/// Reads the hello of a client that was asked for another one, with what may
/// come before it: the sign of a change that means nothing, and data sent early.
pub fn again(bytes: &[u8]) -> Step<Hello> {
    let mut rest = Bytes(bytes);
    while let [20 | 23, ..] = rest.0 {
        let used = bytes.len() - rest.len();
        if used > LIMIT {
            return Step::Bad("too much comes before the second TLS hello");
        }
        if rest.take(3).is_none() || rest.long().is_none() {
            return Step::More;
        }
    }
    let before = bytes.len() - rest.len();
    match parse(rest.0) {
        Step::Done(hello, used) => Step::Done(hello, before + used),
        step => step,
    }
}

/// Finds where the records of the hello end, without copying anything.
fn frames(bytes: &[u8]) -> Result<Option<usize>, &'static str> {
    let mut rest = Bytes(bytes);
    let mut have = 0;
    let mut wanted = None;
    for _ in 0..MAX_RECORDS {
        check_header(rest.0)?;
        let used = bytes.len() - rest.len();
        let Some(header) = rest.take(RECORD_HEADER) else { return fits(used + RECORD_HEADER) };
        let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
        if length == 0 || length > MAX_FRAGMENT {
            return Err("a TLS record has a wrong length");
        }
        let end = used + RECORD_HEADER + length;
        fits(end)?;
        let whole = rest.take(length);
        // The message's own header may lie over several records.
        if wanted.is_none() {
            wanted = wanted_length(&bytes[..end.min(bytes.len())])?;
        }
        have += length;
        if let Some(wanted) = wanted {
            if have > wanted {
                return Err("something follows the TLS hello");
            }
            fits(end + (wanted - have))?;
        }
        match (whole, wanted) {
            (None, _) => return Ok(None),
            (Some(_), Some(wanted)) if wanted == have => return Ok(Some(end)),
            (Some(_), _) => {}
        }
    }
    Err("the TLS hello is in too many pieces")
}

/// Refuses what is too long already.
fn fits(end: usize) -> Result<Option<usize>, &'static str> {
    if end > LIMIT { Err("the TLS hello is too long") } else { Ok(None) }
}

/// Refuses the start of a record as soon as it is wrong.
fn check_header(header: &[u8]) -> Result<(), &'static str> {
    match header {
        [] | [HANDSHAKE] | [HANDSHAKE, 3] | [HANDSHAKE, 3, 0..=3, ..] => Ok(()),
        [HANDSHAKE, 3, ..] => Err("a TLS record has an unknown version"),
        [20 | 21 | 23, ..] => Err("a TLS record is not part of a hello"),
        [first, ..] if first & 0x80 != 0 => Err("SSL 2 is not allowed"),
        _ => Err("this is not TLS"),
    }
}

/// Returns how long the message in some records is, with its header, where
/// enough of it has come to know.
fn wanted_length(records: &[u8]) -> Result<Option<usize>, &'static str> {
    let header = gather(records, MESSAGE_HEADER);
    if header.first().is_some_and(|&kind| kind != CLIENT_HELLO) {
        return Err("the first TLS message is not a hello");
    }
    let [_, high, middle, low] = header[..] else { return Ok(None) };
    let wanted = MESSAGE_HEADER + u32::from_be_bytes([0, high, middle, low]) as usize;
    fits(wanted)?;
    Ok(Some(wanted))
}

/// Returns what is in the records, without what is around it.
fn message(records: &[u8]) -> Vec<u8> {
    gather(records, records.len())
}

/// Returns the first bytes that are in the records, at most so many.
fn gather(records: &[u8], most: usize) -> Vec<u8> {
    let mut rest = Bytes(records);
    let mut message = Vec::with_capacity(most);
    while let (true, Some(header)) = (message.len() < most, rest.take(RECORD_HEADER)) {
        let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
        let part = rest.take(length).unwrap_or_else(|| std::mem::take(&mut rest.0));
        message.extend_from_slice(&part[..part.len().min(most - message.len())]);
    }
    message
}

/// Reads a whole hello message.
fn read(message: &[u8]) -> Result<Hello, &'static str> {
    const SHORT: &str = "the TLS hello has a wrong length";
    let mut rest = Bytes(message.get(MESSAGE_HEADER..).ok_or(SHORT)?);
    let version = rest.pair().ok_or(SHORT)?;
    if !(0x0301..=0x0303).contains(&version) {
        return Err("the TLS hello has an unknown version");
    }
    rest.take(32).ok_or(SHORT)?; // random
    let session = rest.short().ok_or(SHORT)?;
    let ciphers = rest.long().ok_or(SHORT)?;
    let compressions = rest.short().ok_or(SHORT)?;
    if session.len() > 32 || ciphers.is_empty() || ciphers.len() % 2 != 0 {
        return Err(SHORT);
    }
    if !compressions.0.contains(&0) {
        return Err("the TLS hello asks for compression");
    }
    let mut hello = Hello { name: None, encrypted: false, protocols: Vec::new() };
    if rest.is_empty() {
        return Ok(hello);
    }
    let extensions = rest.long().ok_or(SHORT)?;
    if !rest.is_empty() {
        return Err(SHORT);
    }
    read_extensions(extensions, &mut hello)?;
    Ok(hello)
}

fn read_extensions(mut rest: Bytes<'_>, hello: &mut Hello) -> Result<(), &'static str> {
    const SHORT: &str = "an extension of the TLS hello has a wrong length";
    let mut seen = Vec::new();
    while !rest.is_empty() {
        let kind = rest.pair().ok_or(SHORT)?;
        let value = rest.long().ok_or(SHORT)?;
        if seen.contains(&kind) {
            return Err("the TLS hello has an extension twice");
        }
        if seen.len() == MAX_EXTENSIONS {
            return Err("the TLS hello has too many extensions");
        }
        seen.push(kind);
        match kind {
            SERVER_NAME => hello.name = Some(read_name(value)?),
            PROTOCOLS => hello.protocols = read_protocols(value)?,
            _ if ENCRYPTED.contains(&kind) => hello.encrypted = true,
            _ => {}
        }
    }
    Ok(())
}

/// Reads the list of names, which has exactly one, of the kind `host_name`.
fn read_name(mut value: Bytes<'_>) -> Result<String, &'static str> {
    const BAD: &str = "the server name in the TLS hello is not one plain name";
    let mut list = value.long().ok_or(BAD)?;
    let kind = list.byte().ok_or(BAD)?;
    let name = list.long().ok_or(BAD)?;
    if !value.is_empty() || !list.is_empty() || kind != 0 || name.len() > MAX_NAME {
        return Err(BAD);
    }
    visible(name.0).ok_or(BAD)
}

fn read_protocols(mut value: Bytes<'_>) -> Result<Vec<Vec<u8>>, &'static str> {
    const BAD: &str = "the list of protocols in the TLS hello is malformed";
    let mut list = value.long().ok_or(BAD)?;
    if !value.is_empty() || list.is_empty() {
        return Err(BAD);
    }
    let mut protocols = Vec::new();
    while !list.is_empty() {
        let protocol = list.short().ok_or(BAD)?;
        if protocol.is_empty() || protocols.len() == MAX_PROTOCOLS {
            return Err(BAD);
        }
        protocols.push(protocol.0.to_vec());
    }
    Ok(protocols)
}

#[cfg(test)]
#[path = "hello_tests.rs"]
mod tests;
