//! Reads the secret from the memory of a process outside.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/read_memory",
    what: "reads a process's memory",
    attempt: |t| {
        let mut buffer = vec![0_u8; SECRET.len()];
        let local = [sys::at_mut(&mut buffer[..]), SECRET.len()];
        let remote = [t.victim_address, SECRET.len()];
        let read = call(
            libc::SYS_process_vm_readv,
            &[t.victim as usize, sys::at(&local), 1, sys::at(&remote), 1, 0],
        );
        Outcome::when("read the secret", read.is_ok() && buffer == SECRET.as_bytes())
    },
    ..BASE
};
