//! Takes back the promise not to gain rights, and keeps capabilities over a
//! change of user: neither can be had.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/privileges_back",
    what: "takes back the flag against new rights",
    attempt: |_| {
        let _ = call(libc::SYS_prctl, &[libc::PR_SET_NO_NEW_PRIVS as usize, 0, 0, 0, 0]);
        let bits = call(libc::SYS_prctl, &[libc::PR_SET_SECUREBITS as usize, 0x2f]);
        Outcome::any([
            Outcome::when("the flag is gone", sys::status("NoNewPrivs").as_deref() != Some("1")),
            Outcome::of("set its secure bits", bits),
        ])
    },
    control: Control::Depends("whoever runs the tests has set the flag"),
    ..BASE
};
