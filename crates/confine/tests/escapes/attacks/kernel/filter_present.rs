//! Looks whether there is a filter on system calls at all.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "kernel/filter_present",
    what: "runs without a filter",
    attempt: |_| {
        Outcome::when("there is no filter", sys::status("Seccomp").as_deref() != Some("2"))
    },
    control: Control::Depends("whoever runs the tests has a filter already"),
    ..BASE
};
