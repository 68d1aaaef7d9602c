//! Connects to the host's loopback by IPv6.

use std::net::TcpStream;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/tcp_connect_v6",
    what: "connects by IPv6",
    attempt: |t| Outcome::of("connected", TcpStream::connect(("::1", t.tcp6.unwrap_or(1)))),
    control: Control::Depends("there is no IPv6 here"),
    ..BASE
};
