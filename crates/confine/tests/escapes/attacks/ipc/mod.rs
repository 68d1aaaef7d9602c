//! Attacks through sockets, shared memory, queues and keys of the host.

use crate::attack::{Attack, Outcome};
use crate::sys::{self, call};

mod abstract_connect;
mod abstract_send;
mod abstract_sendmsg;
mod key_add;
mod key_read;
mod key_ring;
mod key_search;
mod list;
mod messages;
mod path_connect;
mod path_connect_link;
mod path_connect_root;
mod path_connect_tmp;
mod path_send;
mod posix_queue;
mod semaphores;
mod services;
mod shared_files;
mod shared_memory;

/// What these attacks have in common.
const BASE: Attack = Attack { threat: "Leaks from the caller", ..Attack::BASE };

/// All of them.
pub(super) const ALL: &[&Attack] = &[
    &abstract_connect::ATTACK,
    &abstract_send::ATTACK,
    &abstract_sendmsg::ATTACK,
    &key_add::ATTACK,
    &key_read::ATTACK,
    &key_ring::ATTACK,
    &key_search::ATTACK,
    &list::ATTACK,
    &messages::ATTACK,
    &path_connect::ATTACK,
    &path_connect_link::ATTACK,
    &path_connect_root::ATTACK,
    &path_connect_tmp::ATTACK,
    &path_send::ATTACK,
    &posix_queue::ATTACK,
    &semaphores::ATTACK,
    &services::ATTACK,
    &shared_files::ATTACK,
    &shared_memory::ATTACK,
];

/// Sends one byte to an address by `sendmsg` and one by `sendmmsg`.
pub(super) fn send_both_ways(socket: i32, address: &[u8]) -> Outcome {
    let byte = [sys::at(b"!"), 1_usize];
    let mut message = [0_usize; 8];
    // Address and its length, parts and their number; the rest is not used.
    message[0] = sys::at(address);
    message[1] = address.len();
    message[2] = sys::at(&byte);
    message[3] = 1;
    let fd = socket as usize;
    let one = call(libc::SYS_sendmsg, &[fd, sys::at(&message), 0]);
    let many = call(libc::SYS_sendmmsg, &[fd, sys::at(&message), 1, 0]);
    Outcome::any([Outcome::of("sendmsg", one), Outcome::of("sendmmsg", many)])
}
