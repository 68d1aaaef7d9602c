//! Looks for routes that lead anywhere.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "network/routes",
    what: "lists routes",
    attempt: |_| {
        let list = fs::read_to_string("/proc/net/route").unwrap_or_default();
        Outcome::when("saw a route", list.lines().skip(1).any(|line| !line.starts_with("lo\t")))
    },
    control: Control::Depends("the host has no route"),
    held_by: OWN_TREE,
    ..BASE
};
