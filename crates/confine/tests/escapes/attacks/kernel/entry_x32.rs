//! Makes calls with the bit of the x32 interface in their number.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/entry_x32",
    what: "makes calls by their x32 numbers",
    attempt: |_| {
        const X32: i64 = 0x4000_0000;
        Outcome::of(
            "x32 works",
            sys::in_child(|| {
                call(X32 | libc::SYS_getpid, &[])
                    .and_then(|_| call(X32 | libc::SYS_unshare, &[libc::CLONE_NEWUSER as usize]))
                    .map(|_| ())
            }),
        )
    },
    control: Control::Depends("the kernel has no x32 interface"),
    ..BASE
};
