//! Uses more memory than the limit allows in mappings that could be shared, in several
//! processes that each stay below it.

use super::{BASE, HOLD};
use crate::prelude::*;
use crate::scene::MAX_MEMORY;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/memory_shared",
    what: "uses too much memory in shared mappings",
    attempt: |_| {
        let children: Vec<i32> = (0..4)
            .filter_map(|_| {
                sys::fork(|| {
                    let touched = super::touch_shared(MAX_MEMORY / 4 + (32 << 20));
                    std::thread::sleep(HOLD);
                    i32::from(touched.is_err())
                })
                .ok()
            })
            .collect();
        let good = children.iter().filter(|&&pid| sys::wait(pid) == 0).count();
        Outcome::when("used too much memory together", good == 4)
    },
    ..BASE
};
