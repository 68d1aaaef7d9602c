//! Connects to a socket of the host that has a name but no file.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "ipc/abstract_connect",
    what: "connects to an abstract socket",
    attempt: |t| {
        let address = SocketAddr::from_abstract_name(format!("{}-stream", t.token)).unwrap();
        Outcome::of("connected", UnixStream::connect_addr(&address))
    },
    ..BASE
};
