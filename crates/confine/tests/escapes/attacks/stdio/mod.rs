//! Attacks by way of standard input, output and error: what the caller redirected is
//! open with the caller's rights.

use crate::attack::Attack;

mod directory;
mod errors_file_read;
mod errors_terminal;
mod fifo_reopen;
mod file_change;
mod file_path;
mod file_reopen;
mod socket_accept;
mod socket_datagram;
mod socket_reconnect;
mod socket_unix;

/// What these attacks have in common.
const BASE: Attack = Attack { threat: "Leaks from the caller", ..Attack::BASE };

/// All of them.
pub(super) const ALL: &[&Attack] = &[
    &directory::ATTACK,
    &errors_file_read::ATTACK,
    &errors_terminal::ATTACK,
    &fifo_reopen::ATTACK,
    &file_change::ATTACK,
    &file_path::ATTACK,
    &file_reopen::ATTACK,
    &socket_accept::ATTACK,
    &socket_datagram::ATTACK,
    &socket_reconnect::ATTACK,
    &socket_unix::ATTACK,
];
