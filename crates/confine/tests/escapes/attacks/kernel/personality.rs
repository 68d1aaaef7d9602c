//! Switches off the hardening of its own process and of the programs it starts:
//! addresses that are not random, memory that is executable because it is readable, a
//! first page that can be mapped.

use super::BASE;
use crate::prelude::*;

const FLAGS: [(&str, usize); 5] = [
    ("addresses that are not random", 0x4_0000),
    ("executable memory", 0x40_0000),
    ("the old layout of memory", 0x20_0000),
    ("a first page", 0x10_0000),
    ("addresses that are not random, with a wide argument", 1 << 32 | 0x4_0000),
];

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/personality",
    what: "switches off the hardening of its process",
    attempt: |_| {
        Outcome::any(FLAGS.map(|(what, flag)| {
            Outcome::refused(what, sys::in_child(|| call(libc::SYS_personality, &[flag]).map(drop)))
        }))
    },
    ..BASE
};
