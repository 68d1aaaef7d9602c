//! Uses more memory than the limit allows in the buffers of sockets, which belong to no
//! process.

use std::io::Write;
use std::os::unix::net::UnixStream;

use super::{BASE, HOLD};
use crate::prelude::*;
use crate::scene::MAX_MEMORY;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/memory_sockets",
    what: "uses too much memory in buffers of sockets",
    needs_group: true,
    attempt: |_| {
        // Several processes, because each may have so many descriptors.
        let children: Vec<i32> = (0..16)
            .filter_map(|_| {
                sys::fork(|| {
                    let filled = fill(MAX_MEMORY * 3 / 2 / 16);
                    std::thread::sleep(HOLD);
                    i32::from(filled.is_err())
                })
                .ok()
            })
            .collect();
        let good = children.iter().filter(|&&pid| sys::wait(pid) == 0).count();
        Outcome::when("filled buffers of sockets", good == 16)
    },
    control: Control::Depends("a user may not have so many sockets"),
    ..BASE
};

/// Leaves this many bytes in the buffers of sockets.
fn fill(bytes: u64) -> io::Result<()> {
    let (mut left, piece) = (bytes, [1; 1 << 16]);
    let mut sockets = Vec::new();
    while left > 0 {
        let (mut one, other) = UnixStream::pair()?;
        one.set_nonblocking(true)?;
        while let Ok(count) = one.write(&piece) {
            left = left.saturating_sub(count as u64);
        }
        sockets.push((one, other));
    }
    std::mem::forget(sockets);
    Ok(())
}
