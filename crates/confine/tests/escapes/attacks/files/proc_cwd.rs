//! Goes through the working directory of every other process.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/proc_cwd",
    what: "goes through other processes' working directories",
    attempt: |t| {
        let found = t.others().into_iter().any(|pid| {
            let cwd = Path::new("/proc").join(pid.to_string()).join("cwd");
            [
                cwd.join("secret.txt"),
                cwd.join("outside/secret.txt"),
                cwd.join("../outside/secret.txt"),
            ]
            .iter()
            .any(|path| Target::is_secret(&fs::read(path)))
        });
        Outcome::when("read the secret", found)
    },
    ..BASE
};
