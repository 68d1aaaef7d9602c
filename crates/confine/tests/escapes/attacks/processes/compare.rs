//! Compares kernel objects with those of a process outside, which tells
//! addresses.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/compare",
    what: "compares objects of two processes",
    attempt: |t| {
        let own = std::process::id() as usize;
        Outcome::of("compared them", call(libc::SYS_kcmp, &[own, t.victim as usize, 0, 0, 0]))
    },
    control: Control::Depends("the kernel does not have the call"),
    ..BASE
};
