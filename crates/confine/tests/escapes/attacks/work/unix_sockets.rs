//! Uses Unix sockets with a path, without a file and in pairs, and passes a
//! descriptor.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "work/unix_sockets",
    what: "talks to itself over Unix sockets",
    attempt: |t| {
        Outcome::ordinary(
            "Unix sockets",
            (|| -> io::Result<()> {
                let path = t.rw.join("own.sock");
                let _listener = UnixListener::bind(&path)?;
                UnixStream::connect(&path)?;
                let name = SocketAddr::from_abstract_name(format!("{}-own", t.token))?;
                let _second = UnixListener::bind_addr(&name)?;
                UnixStream::connect_addr(&name)?;
                let (one, two) = UnixDatagram::pair()?;
                one.send(b"1")?;
                two.recv(&mut [0]).map(|_| ())
            })(),
        )
    },
    ..BASE
};
