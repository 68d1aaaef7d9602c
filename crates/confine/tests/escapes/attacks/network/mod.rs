//! Attempts to reach the host or beyond while the network is off.

use crate::attack::Attack;

mod add_address;
mod bluetooth;
mod connections;
mod crypto;
mod express;
mod families;
mod interfaces;
mod multipath;
mod multipath_reached;
mod netlink_families;
mod packet;
mod pairs;
mod raw;
mod routes;
mod serve;
mod tcp_connect;
mod tcp_connect_any;
mod tcp_connect_v6;
mod tcp_fast_open;
mod udp_connect;
mod udp_send;
mod udp_sendmsg;
mod unix_sockets;
mod vsock;
mod wide_arguments;

/// What these attacks have in common.
const BASE: Attack = Attack { threat: "Network", ..Attack::BASE };

/// All of them.
pub(super) const ALL: &[&Attack] = &[
    &add_address::ATTACK,
    &bluetooth::ATTACK,
    &connections::ATTACK,
    &crypto::ATTACK,
    &express::ATTACK,
    &families::ATTACK,
    &interfaces::ATTACK,
    &multipath::ATTACK,
    &multipath_reached::ATTACK,
    &netlink_families::ATTACK,
    &packet::ATTACK,
    &pairs::ATTACK,
    &raw::ATTACK,
    &routes::ATTACK,
    &serve::ATTACK,
    &tcp_connect::ATTACK,
    &tcp_connect_any::ATTACK,
    &tcp_connect_v6::ATTACK,
    &tcp_fast_open::ATTACK,
    &udp_connect::ATTACK,
    &udp_send::ATTACK,
    &udp_sendmsg::ATTACK,
    &unix_sockets::ATTACK,
    &vsock::ATTACK,
    &wide_arguments::ATTACK,
];

/// An address on the loopback, as the kernel wants it.
pub(super) fn ipv4(port: u16) -> [u8; 16] {
    let mut address = [0; 16];
    address[..2].copy_from_slice(&2_u16.to_ne_bytes());
    address[2..4].copy_from_slice(&port.to_be_bytes());
    address[4..8].copy_from_slice(&[127, 0, 0, 1]);
    address
}
