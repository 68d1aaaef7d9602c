//! Becomes another user: inside there is only one.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "setid/other_user",
    what: "becomes another user",
    attempt: |_| {
        Outcome::any([1_usize, 1000, 65534].map(|id| {
            if id as u32 == rustix::process::getuid().as_raw() {
                return Outcome::Held("is that user".into());
            }
            Outcome::of(
                "became another user",
                sys::in_child(|| call(libc::SYS_setresuid, &[id, id, id]).map(|_| ())),
            )
        }))
    },
    control: Control::NeedsRoot("an ordinary user cannot"),
    ..BASE
};
