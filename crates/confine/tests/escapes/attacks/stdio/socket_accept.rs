//! Takes a connection from a listening socket of the host that is its standard
//! input, as inetd and socket activation hand them over.

use std::net::{TcpListener, TcpStream};

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "stdio/socket_accept",
    what: "accepts on the socket that is its standard input",
    given: |_| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        // It waits as long as the case runs.
        std::mem::forget(client);
        Given::input(listener)
    },
    attempt: |_| Outcome::of("took a connection", call(libc::SYS_accept4, &[0, 0, 0, 0])),
    ..BASE
};
