//! Counts on the kernel to end another program of the user's when the machine runs out
//! of memory.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/out_of_memory_own",
    what: "is as dear to the machine as the user's programs",
    attempt: |_| {
        let score = fs::read_to_string("/proc/self/oom_score_adj").unwrap_or_default();
        Outcome::when("it is spared as others are", score.trim() != "1000")
    },
    ..BASE
};
