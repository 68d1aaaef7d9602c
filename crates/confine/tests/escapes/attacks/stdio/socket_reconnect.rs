//! Connects the socket that is its standard input to another address: the socket
//! stays in the network that it was made in.

use std::net::{TcpListener, TcpStream};

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "stdio/socket_reconnect",
    what: "connects its standard input to another address",
    given: |_| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        std::mem::forget(listener.accept().unwrap());
        Given::input(client)
    },
    attempt: |t| {
        let (nowhere, address) = ([0_u8; 16], super::super::network::ipv4(t.tcp));
        let _ = call(libc::SYS_connect, &[0, sys::at(&nowhere), nowhere.len()]);
        let connected = call(libc::SYS_connect, &[0, sys::at(&address), address.len()]);
        Outcome::of("connected in the host's network", connected)
    },
    ..BASE
};
