//! Looks for the caller's key by its name, in the session's keyring and by
//! `request_key`.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "ipc/key_search",
    what: "looks for the caller's key",
    attempt: |t| {
        const SEARCH: usize = 10;
        const SESSION: usize = -3_isize as usize;
        let (kind, name) = (text("user"), text(&t.token));
        Outcome::any([
            Outcome::of(
                "found the key",
                call(libc::SYS_keyctl, &[SEARCH, SESSION, kind.at(), name.at(), 0]),
            ),
            Outcome::of(
                "was given the key",
                call(libc::SYS_request_key, &[kind.at(), name.at(), 0, 0]),
            ),
        ])
    },
    control: Control::Depends("the kernel has no keys"),
    ..BASE
};
