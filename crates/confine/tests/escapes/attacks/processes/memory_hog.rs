//! Uses more memory than the limit allows.

use super::BASE;
use crate::prelude::*;
use crate::scene::MAX_MEMORY;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/memory_hog",
    what: "uses too much memory",
    attempt: |_| {
        let hogged = sys::in_child(|| super::touch(MAX_MEMORY + (64 << 20)));
        Outcome::of("used too much memory", hogged)
    },
    ..BASE
};
