//! Uses more memory than the limit allows in more than a hundred processes that come and
//! go, and whose parents have ended.

use super::BASE;
use crate::prelude::*;
use crate::scene::MAX_MEMORY;

/// How many processes start others, and how many each of them has at once.
const LINES: u64 = 40;
const AT_ONCE: u64 = 3;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/memory_churn",
    what: "uses too much memory in processes that come and go",
    attempt: |_| {
        let each = 2 * MAX_MEMORY / (LINES * AT_ONCE);
        let lines: Vec<i32> = (0..LINES)
            .filter_map(|_| {
                sys::fork(|| {
                    let begun = (0..2 * AT_ONCE).filter(|_| {
                        // Its parent ends before it does.
                        let middle = sys::fork(|| {
                            let last = sys::fork(|| {
                                let touched = super::touch(each);
                                std::thread::sleep(Duration::from_millis(900));
                                i32::from(touched.is_err())
                            });
                            i32::from(last.is_err())
                        });
                        std::thread::sleep(Duration::from_millis(300));
                        middle.is_ok_and(|pid| sys::wait(pid) == 0)
                    });
                    i32::from(begun.count() as u64 != 2 * AT_ONCE)
                })
                .ok()
            })
            .collect();
        let good = lines.iter().filter(|&&pid| sys::wait(pid) == 0).count() as u64;
        Outcome::when("used too much memory for a while", good == LINES)
    },
    ..BASE
};
