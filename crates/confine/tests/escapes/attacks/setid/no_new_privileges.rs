//! Looks whether programs with the bit could still raise it: they cannot, once
//! the flag is set that is never taken back.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "setid/no_new_privileges",
    what: "could gain rights by a set-uid program",
    attempt: |_| {
        Outcome::when(
            "programs can still gain rights",
            sys::status("NoNewPrivs").as_deref() != Some("1"),
        )
    },
    control: Control::Depends("whoever runs the tests has set the flag"),
    ..BASE
};
