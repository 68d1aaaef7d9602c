//! Goes through `/proc/self/root` and `/proc/thread-self/root`: they lead to the
//! tree of the command and no further.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/proc_root",
    what: "goes through its own root in /proc",
    attempt: |t| {
        let below = |root: &str| Path::new(root).join(t.secret().strip_prefix("/").unwrap());
        let paths = [
            below("/proc/self/root"),
            below("/proc/thread-self/root"),
            below("/proc/self/task/../root"),
        ];
        Outcome::when(
            "read the secret",
            paths.iter().any(|path| Target::is_secret(&fs::read(path))),
        )
    },
    ..BASE
};
