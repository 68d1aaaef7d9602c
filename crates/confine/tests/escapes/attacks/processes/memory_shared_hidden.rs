//! Does the same in processes that nobody may look into.

use super::{BASE, HOLD};
use crate::prelude::*;
use crate::scene::MAX_MEMORY;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/memory_shared_hidden",
    what: "uses too much memory in shared mappings of hidden processes",
    attempt: |_| {
        let children: Vec<i32> = (0..4)
            .filter_map(|_| {
                sys::fork(|| {
                    let _ = call(libc::SYS_prctl, &[libc::PR_SET_DUMPABLE as usize, 0]);
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
