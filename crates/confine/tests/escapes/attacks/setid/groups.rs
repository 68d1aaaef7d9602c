//! Drops its groups, by which a file that is closed to a group opens.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "setid/groups",
    what: "changes its groups",
    attempt: |_| {
        Outcome::of(
            "changed its groups",
            sys::in_child(|| call(libc::SYS_setgroups, &[0, 0]).map(|_| ())),
        )
    },
    control: Control::NeedsRoot("an ordinary user cannot"),
    ..BASE
};
