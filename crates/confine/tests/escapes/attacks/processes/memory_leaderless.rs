//! Uses more memory than the limit allows in processes whose first thread has ended:
//! the kernel shows no memory for that thread.

use super::{BASE, HOLD};
use crate::prelude::*;
use crate::scene::MAX_MEMORY;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/memory_leaderless",
    what: "uses too much memory in processes without a first thread",
    attempt: |_| {
        let children: Vec<i32> = (0..3)
            .filter_map(|_| {
                sys::fork(|| {
                    std::thread::spawn(|| {
                        std::thread::sleep(Duration::from_millis(100));
                        let touched = super::touch(MAX_MEMORY / 2);
                        std::thread::sleep(HOLD);
                        // SAFETY: ends this process and nothing else.
                        unsafe { libc::_exit(i32::from(touched.is_err())) }
                    });
                    // Ends this thread alone.
                    let _ = call(libc::SYS_exit, &[0]);
                    1
                })
                .ok()
            })
            .collect();
        let good = children.iter().filter(|&&pid| sys::wait(pid) == 0).count();
        Outcome::when("used too much memory together", good == 3)
    },
    ..BASE
};
