//! Goes through the root directory of every other process, the first and the
//! parent among them: none of them is outside.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/proc_root_of_others",
    what: "goes through other processes' roots in /proc",
    attempt: |t| {
        let secret = t.secret();
        let below = |pid: i32| {
            Path::new("/proc")
                .join(pid.to_string())
                .join("root")
                .join(secret.strip_prefix("/").unwrap())
        };
        Outcome::when(
            "read the secret",
            t.others().into_iter().any(|pid| Target::is_secret(&fs::read(below(pid)))),
        )
    },
    ..BASE
};
