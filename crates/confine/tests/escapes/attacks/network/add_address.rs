//! Gives the loopback another address, as whoever runs a network may.

use std::os::fd::AsRawFd;

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/add_address",
    what: "gives the loopback an address",
    attempt: |t| {
        // Without a sandbox in a network of its own, so that nothing stays.
        if !t.confined
            && call(
                libc::SYS_unshare,
                &[(libc::CLONE_NEWNET | if sys::is_full_root() { 0 } else { libc::CLONE_NEWUSER })
                    as usize],
            )
            .is_err()
        {
            return Outcome::Held("no network of its own".into());
        }
        // Length, kind, flags; then family, prefix, index; then the address.
        let mut request = [0_u8; 40];
        request[0] = 40;
        request[4..8].copy_from_slice(&[20, 0, 0x05, 0x06]);
        request[16..18].copy_from_slice(&[2, 32]);
        request[20] = 1;
        request[24..32].copy_from_slice(&[8, 0, 2, 0, 127, 0, 0, 9]);
        request[32..40].copy_from_slice(&[8, 0, 1, 0, 127, 0, 0, 9]);
        let Ok(socket) = sys::socket(16, libc::SOCK_RAW, 0) else {
            return Outcome::Held("no socket".into());
        };
        let fd = socket.as_raw_fd() as usize;
        let mut answer = [0_u8; 128];
        let answered =
            call(libc::SYS_sendto, &[fd, sys::at(&request), 40, 0, 0, 0]).and_then(|_| {
                call(
                    libc::SYS_recvfrom,
                    &[fd, sys::at_mut(&mut answer), 128, libc::MSG_DONTWAIT as usize, 0, 0],
                )
            });
        Outcome::when(
            "the kernel agreed",
            answered.is_ok() && answer[4] == 2 && answer[16..20] == [0; 4],
        )
    },
    control: Control::Namespaces,
    ..BASE
};
