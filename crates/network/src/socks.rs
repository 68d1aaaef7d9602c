//! What a client of a SOCKS 5 proxy says, and what it is told.

use std::fmt;
use std::net::IpAddr;

use crate::codec::{Bytes, Step, visible};

/// No method of the client will do.
pub const METHOD_NONE: [u8; 2] = [5, 0xff];
/// Go on without a password.
pub const METHOD_OPEN: [u8; 2] = [5, 0];
/// Send a name and a password.
pub const METHOD_PASSWORD: [u8; 2] = [5, 2];
/// The name and the password are right.
pub const LOGIN_GOOD: [u8; 2] = [1, 0];
/// The name and the password are wrong.
pub const LOGIN_BAD: [u8; 2] = [1, 1];
/// The answer to a client that speaks SOCKS 4.
pub const REFUSED_4: [u8; 8] = [0, 91, 0, 0, 0, 0, 0, 0];

const CONNECT: u8 = 1;

/// How a client could prove who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Greeting {
    /// Not at all.
    pub open: bool,
    /// By a name and a password.
    pub password: bool,
}

/// A name and a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// The name.
    pub user: Vec<u8>,
    /// The password.
    pub password: Vec<u8>,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login(..)")
    }
}

/// Where a client wants to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// It wants a connection; everything else is not offered.
    pub connect: bool,
    /// A name as it was sent, visible ASCII and not yet a valid host, or an address.
    pub host: String,
    /// The port there.
    pub port: u16,
}

/// What a client is told about its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// The connection stands.
    Good = 0,
    /// Something went wrong.
    Failed = 1,
    /// The rules do not allow it.
    NotAllowed = 2,
    /// The host cannot be reached.
    Unreachable = 4,
    /// The host refused the connection.
    Refused = 5,
    /// Only connections are offered.
    Command = 7,
    /// The kind of address is unknown.
    Address = 8,
}

/// Reads the first message.
pub fn greeting(bytes: &[u8]) -> Step<Greeting> {
    match bytes.first() {
        None | Some(5) => {}
        Some(4) => return Step::Bad("SOCKS 4 is not offered, only SOCKS 5"),
        Some(_) => return Step::Bad("this is not SOCKS 5"),
    }
    if bytes.get(1) == Some(&0) {
        return Step::Bad("the SOCKS greeting offers nothing");
    }
    let mut rest = Bytes(bytes);
    let Some(methods) = rest.byte().and_then(|_| rest.short()) else { return Step::More };
    let offers = |method| methods.0.contains(&method);
    Step::Done(Greeting { open: offers(0), password: offers(2) }, bytes.len() - rest.len())
}

/// Reads the name and the password.
pub fn login(bytes: &[u8]) -> Step<Login> {
    if bytes.first().is_some_and(|&version| version != 1) {
        return Step::Bad("the SOCKS login has an unknown version");
    }
    let mut rest = Bytes(bytes);
    let Some(user) = rest.byte().and_then(|_| rest.short()) else { return Step::More };
    let Some(password) = rest.short() else { return Step::More };
    let login = Login { user: user.0.to_vec(), password: password.0.to_vec() };
    Step::Done(login, bytes.len() - rest.len())
}

/// Reads the request.
pub fn request(bytes: &[u8]) -> Step<Request> {
    const BAD: &str = "the SOCKS request is malformed";
    match bytes {
        [] | [5] | [5, _] | [5, _, 0, ..] => {}
        _ => return Step::Bad(BAD),
    }
    let mut rest = Bytes(bytes);
    let Some(&[_, command, _, kind]) = rest.take(4) else { return Step::More };
    let host = match kind {
        1 => rest.take(4).map(address::<4>),
        4 => rest.take(16).map(address::<16>),
        3 => rest.short().map(|name| visible(name.0)),
        _ => return Step::Bad("the SOCKS request has an unknown kind of address"),
    };
    let host = match host {
        Some(Some(host)) => host,
        Some(None) => return Step::Bad("the name in the SOCKS request is not a plain name"),
        None => return Step::More,
    };
    let Some(port) = rest.pair() else { return Step::More };
    Step::Done(Request { connect: command == CONNECT, host, port }, bytes.len() - rest.len())
}

/// Returns an address as text, where there are as many bytes as it has.
fn address<const N: usize>(octets: &[u8]) -> Option<String>
where
    IpAddr: From<[u8; N]>,
{
    let octets = <[u8; N]>::try_from(octets).ok()?;
    Some(IpAddr::from(octets).to_string())
}

/// Returns the answer to a request. It names no address of ours.
pub fn reply(reply: Reply) -> [u8; 10] {
    [5, reply as u8, 0, 1, 0, 0, 0, 0, 0, 0]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_bad<T>(step: Step<T>) -> bool {
        matches!(step, Step::Bad(_))
    }

    fn name_request(name: &[u8]) -> Vec<u8> {
        [&[5, 1, 0, 3, name.len() as u8], name, &[1, 0xbb]].concat()
    }

    /// Every shorter input wants more, and what follows is left alone.
    fn read_whole<T: PartialEq + fmt::Debug>(bytes: &[u8], read: fn(&[u8]) -> Step<T>) -> T {
        for end in 0..bytes.len() {
            assert_eq!(read(&bytes[..end]), Step::More, "{bytes:?} until {end}");
        }
        let longer = [bytes, b"GET / HTTP/1.1"].concat();
        let Step::Done(value, used) = read(&longer) else { panic!("{bytes:?}") };
        assert_eq!(used, bytes.len());
        value
    }

    #[test]
    fn greetings_say_how_a_client_can_log_in() {
        let cases: [(&[u8], bool, bool); 5] = [
            (&[5, 1, 0], true, false),
            (&[5, 1, 2], false, true),
            (&[5, 2, 0, 2], true, true),
            (&[5, 3, 2, 1, 0], true, true),
            (&[5, 1, 1], false, false),
        ];
        for (bytes, open, password) in cases {
            assert_eq!(read_whole(bytes, greeting), Greeting { open, password }, "{bytes:?}");
        }
        let every: Vec<u8> = [5, 255].into_iter().chain(1..=255).collect();
        assert_eq!(read_whole(&every, greeting), Greeting { open: false, password: true });
        for bytes in [&[4, 1, 0, 80, 1, 2, 3, 4, 0][..], &[5, 0], &[0], b"GET"] {
            assert!(is_bad(greeting(bytes)), "{bytes:?}");
        }
    }

    #[test]
    fn logins_are_read_and_not_shown() {
        let got = read_whole(&[1, 1, b'u', 2, b'p', 0], login);
        assert_eq!((&got.user[..], &got.password[..]), (&b"u"[..], &b"p\0"[..]));
        assert_eq!(format!("{got:?}"), "Login(..)");
        let got = read_whole(&[1, 0, 0], login);
        assert!(got.user.is_empty() && got.password.is_empty());
        assert!(is_bad(login(&[5, 1, 0])));
    }

    #[test]
    fn requests_name_a_host_and_a_port() {
        let v6 = [5, 1, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1, 0, 80];
        let cases: [(&[u8], bool, &str, u16); 6] = [
            (&name_request(b"example.org"), true, "example.org", 443),
            (&name_request(b"[::1%lo]"), true, "[::1%lo]", 443),
            (&name_request(&[b'a'; 255]), true, &"a".repeat(255), 443),
            (&[5, 1, 0, 1, 10, 1, 2, 3, 0x1f, 0x90], true, "10.1.2.3", 8080),
            (&v6, true, "::ffff:127.0.0.1", 80),
            (&[5, 3, 0, 1, 0, 0, 0, 0, 0, 0], false, "0.0.0.0", 0),
        ];
        for (bytes, connect, host, port) in cases {
            let want = Request { connect, host: host.to_owned(), port };
            assert_eq!(read_whole(bytes, request), want);
        }
    }

    #[test]
    fn names_that_could_be_taken_for_others_are_refused() {
        for name in [
            &b""[..],
            b"example.org\0.test",
            b"a\nb",
            b"a\rb",
            b"a b",
            b"\x7f",
            b"\xff",
            "bücher.test".as_bytes(),
        ] {
            assert!(is_bad(request(&name_request(name))), "{name:?}");
        }
        for bytes in [&[4][..], &[5, 1, 1], &[5, 1, 0, 2], &[5, 1, 0, 0], &[5, 1, 0, 5, 1]] {
            assert!(is_bad(request(bytes)), "{bytes:?}");
        }
    }

    #[test]
    fn replies_have_the_form_of_the_standard() {
        assert_eq!(reply(Reply::NotAllowed), [5, 2, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(reply(Reply::Good)[1], 0);
        assert_eq!(REFUSED_4[..2], [0, 0x5b]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = (greeting(&bytes), login(&bytes), request(&bytes));
            if let Some(first) = bytes.first_mut() {
                *first = 5;
            }
            if let Step::Done(request, used) = request(&bytes) {
                prop_assert!(used <= bytes.len() && used >= 8);
                prop_assert!(request.host.bytes().all(|byte| byte.is_ascii_graphic()));
            }
        }
    }
}
