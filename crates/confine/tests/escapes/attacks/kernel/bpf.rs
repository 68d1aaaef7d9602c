//! Loads a map into the kernel.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/bpf",
    what: "makes a BPF map",
    attempt: |_| {
        // An array of one word: kind, key, value, entries.
        let mut request = [0_u32; 32];
        request[..4].copy_from_slice(&[2, 4, 4, 1]);
        Outcome::refused("bpf", call(libc::SYS_bpf, &[0, sys::at(&request), 128]))
    },
    control: Control::NeedsRoot("an ordinary user cannot"),
    ..BASE
};
