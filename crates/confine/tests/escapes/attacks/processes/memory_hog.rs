//! Uses more memory than the limit allows.

use super::{BASE, HOLD};
use crate::prelude::*;
use crate::scene::MAX_MEMORY;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/memory_hog",
    what: "uses too much memory and keeps it",
    attempt: |_| {
        let hogged = sys::in_child(|| {
            super::touch(MAX_MEMORY + (64 << 20))?;
            std::thread::sleep(HOLD);
            Ok(())
        });
        Outcome::of("used too much memory", hogged)
    },
    ..BASE
};
