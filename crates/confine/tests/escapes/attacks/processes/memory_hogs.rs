//! Uses more memory than the limit allows in several processes, each of which
//! stays below it.

use super::BASE;
use crate::prelude::*;
use crate::scene::MAX_MEMORY;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/memory_hogs",
    what: "uses too much memory in several processes",
    attempt: |_| {
        let children: Vec<i32> = (0..4)
            .filter_map(|_| {
                sys::fork(|| {
                    if super::touch(MAX_MEMORY / 4 + (32 << 20)).is_err() {
                        return 1;
                    }
                    std::thread::sleep(Duration::from_secs(2));
                    0
                })
                .ok()
            })
            .collect();
        let good = children.iter().filter(|&&pid| sys::wait(pid) == 0).count();
        Outcome::when("used too much memory together", good == 4)
    },
    ..BASE
};
