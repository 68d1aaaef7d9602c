//! Makes more threads than the limit on processes allows.

use std::sync::atomic::{AtomicBool, Ordering};

use super::BASE;
use crate::prelude::*;
use crate::scene::MAX_PROCESSES;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/thread_bomb",
    what: "makes too many threads",
    attempt: |_| {
        let stop = AtomicBool::new(false);
        let mut made = 0;
        std::thread::scope(|scope| {
            for _ in 0..=MAX_PROCESSES {
                let wait = || {
                    while !stop.load(Ordering::Relaxed) {
                        std::thread::sleep(Duration::from_millis(10))
                    }
                };
                let started =
                    std::thread::Builder::new().stack_size(64 << 10).spawn_scoped(scope, wait);
                if started.is_err() {
                    break;
                }
                made += 1;
            }
            stop.store(true, Ordering::Relaxed);
        });
        Outcome::when("made too many threads", made > MAX_PROCESSES)
    },
    held_by: OWN_TREE,
    not_for_root: &[Backend::Bubblewrap],
    ..BASE
};
