//! Serves and connects on its own loopback, by TCP and UDP.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "work/loopback",
    what: "talks to itself over loopback",
    attempt: |_| {
        Outcome::ordinary(
            "loopback",
            (|| -> io::Result<()> {
                let listener = TcpListener::bind("127.0.0.1:0")?;
                let mut client = TcpStream::connect(listener.local_addr()?)?;
                client.write_all(b"1")?;
                let mut byte = [0];
                listener.accept()?.0.read_exact(&mut byte)?;
                let (one, two) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
                one.send_to(b"2", two.local_addr()?)?;
                two.set_read_timeout(Some(Duration::from_secs(2)))?;
                two.recv(&mut byte).map(|_| ())
            })(),
        )
    },
    held_by: OWN_TREE,
    ..BASE
};
