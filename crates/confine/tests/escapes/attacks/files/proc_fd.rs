//! Opens whatever other processes have open, and what lies beside it.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "files/proc_fd",
    what: "opens other processes' descriptors",
    attempt: |t| {
        let found = t.others().into_iter().any(|pid| {
            let Ok(fds) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
            fds.flatten().any(|fd| {
                let regular = fs::metadata(fd.path()).is_ok_and(|meta| meta.is_file());
                regular && Target::is_secret(&fs::read(fd.path()))
                    || Target::is_secret(&fs::read(fd.path().join("secret.txt")))
            })
        });
        Outcome::when("read the secret", found)
    },
    ..BASE
};
