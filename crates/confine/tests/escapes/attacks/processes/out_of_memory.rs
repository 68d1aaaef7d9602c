//! Makes a process outside the first to go when memory runs out.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "processes/out_of_memory",
    what: "offers a process to the out-of-memory killer",
    attempt: |t| {
        Outcome::of("set its score", fs::write(format!("/proc/{}/oom_score_adj", t.victim), "500"))
    },
    ..BASE
};
