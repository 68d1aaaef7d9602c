//! Gets a user namespace, and with it every capability over what it then makes.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "mounts/user_namespace",
    what: "makes a user namespace",
    attempt: |_| {
        Outcome::of(
            "made a user namespace",
            sys::in_child(|| call(libc::SYS_unshare, &[libc::CLONE_NEWUSER as usize]).map(|_| ())),
        )
    },
    ..BASE
};
